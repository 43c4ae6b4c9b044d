/** Tracks the runs inside the calls of a run: they are saved and cancelled with it. */

import type { CancelMode, CancelOptions } from '../vocabulary/cancel.ts'

interface Cancellable {
  readonly halt: { cancel(options: CancelOptions): void }
}

export class InnerRuns<Inner extends Cancellable, Caller> {
  /** The running inner runs, with their calls. */
  readonly #running: Map<Inner, Caller> = new Map()

  /** The run is ready to begin. */
  add(inner: Inner, caller: Caller): void {
    this.#running.set(inner, caller)
  }

  /** The run is over. */
  delete(inner: Inner): void {
    this.#running.delete(inner)
  }

  /** The run inside a call: the newest one, if an earlier execution is still running. */
  of(entry: Caller): Inner | undefined {
    return [...this.#running].findLast(([, caller]) => caller === entry)?.[0]
  }

  cancel(mode: CancelMode): void {
    for (const inner of this.#running.keys()) inner.halt.cancel({ at: mode })
  }
}
