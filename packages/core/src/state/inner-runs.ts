/** Keeps the runs inside the calls of a run: they are saved and cancelled with it. */

import type { CancelMode, CancelOptions } from '../vocabulary/cancel.ts'

interface Cancellable {
  readonly halt: { cancel(options: CancelOptions): void }
}

export class InnerRuns<Inner extends Cancellable, Caller> {
  /** With the calls that make them. */
  readonly #atWork: Map<Inner, Caller> = new Map()

  /** The run is ready to begin. */
  add(inner: Inner, caller: Caller): void {
    this.#atWork.set(inner, caller)
  }

  /** The run is over. */
  delete(inner: Inner): void {
    this.#atWork.delete(inner)
  }

  /** The one at work in a call: the newest, if an execution before this one still goes on. */
  of(entry: Caller): Inner | undefined {
    return [...this.#atWork].findLast(([, caller]) => caller === entry)?.[0]
  }

  cancel(mode: CancelMode): void {
    for (const inner of this.#atWork.keys()) inner.halt.cancel({ at: mode })
  }
}
