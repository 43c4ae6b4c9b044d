/** The runs inside the calls of a run: saved with it, and cancelled with it (K16). */

import type { CancelMode } from '../cancel.ts'
import { checkpointOf } from '../checkpoint/snapshot.ts'
import type { CallEntry } from '../tool-call/call-entry.ts'
import type { Nesting, RunState } from './run.ts'

export class InnerRuns {
  readonly #run: RunState
  /** With the calls that make them. */
  readonly #atWork: Map<RunState, CallEntry> = new Map()

  constructor(run: RunState) {
    this.#run = run
  }

  /** The run is ready to begin. */
  add(inner: RunState, { entry, invocation }: Nesting): void {
    this.#atWork.set(inner, entry)
    const saved = () => inner.checkpoint ?? checkpointOf(inner, inner.isCancelledNow ? 'cancelled' : 'running')
    entry.outcomes.begin(invocation, saved)
    const { mode } = this.#run.halt.state
    if (mode) inner.halt.cancel({ at: mode })
  }

  /** The run is over. */
  delete(inner: RunState): void {
    this.#atWork.delete(inner)
  }

  /** The one at work in a call: the newest, if an execution before this one still goes on. */
  of(entry: CallEntry): RunState | undefined {
    return [...this.#atWork].findLast(([, caller]) => caller === entry)?.[0]
  }

  cancel(mode: CancelMode): void {
    for (const inner of this.#atWork.keys()) inner.halt.cancel({ at: mode })
  }
}
