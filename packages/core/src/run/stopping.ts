/** How a run is stopped at once, by an abort or a cancel: why, and how long what it has at work is still waited for. */

import type { CheckpointStoreError } from '../checkpoint/checkpoint-errors.ts'
import { checkpointOf } from '../checkpoint/snapshot.ts'
import { type AgentError, RunAbortedError, RunStop } from '../errors.ts'
import type { CancelMode } from './cancel.ts'
import type { RunState } from './run.ts'

export class Stopping {
  readonly #run: RunState
  readonly #controller = new AbortController()
  #reason: AgentError | undefined
  #graceBegan: number | undefined
  #fail: (failure: AgentError) => void = () => undefined

  constructor(run: RunState) {
    this.#run = run
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Why the run was stopped at once, if it was: an abort wins over a cancel (K11). */
  get reason(): AgentError | undefined {
    return this.#reason
  }

  /** The same, if the run has come to nothing by it, and no resume goes on from there. */
  get failure(): AgentError | undefined {
    return this.#reason instanceof RunStop ? undefined : this.#reason
  }

  /** What the work gives, unless the run comes to nothing before that: then nobody waits for it. For one at a time. */
  unlessFailed<Result>(work: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#fail = reject
      if (this.failure) reject(this.failure)
      work.then(resolve, reject)
    })
  }

  /** The caller, or a reader that leaves, aborts the run. */
  abort(reason: unknown): void {
    this.stop(new RunAbortedError(reason))
  }

  /** Stops the run: model request and tools are aborted. The first reason counts, but for a cancel's. */
  stop(reason: AgentError): void {
    if (this.failure) return
    this.#reason = reason
    this.#graceBegan ??= performance.now()
    const { inbox, over, request, calls, background } = this.#run
    inbox.isClosed = true
    if (!(reason instanceof RunStop)) this.#fail(reason)
    if (over || this.signal.aborted) return
    this.#controller.abort(reason)
    request.abort(reason)
    calls.abort(reason)
    background.abort(reason)
  }

  /** A cancel has become so strong. */
  cancelled(mode: CancelMode): void {
    const { isReady, over, background, cancel, request, innerRuns } = this.#run
    if (!isReady || over) return
    background.wake()
    if (mode === 'now') {
      this.stop(this.#keepForResume() ?? cancel.error)
      return
    }
    request.cancelled()
    innerRuns.cancel(mode)
  }

  /** Takes the checkpoint, before anything is torn down. Gives why not, if the run cannot be saved: nothing goes on from there then. */
  #keepForResume(): AgentError | undefined {
    try {
      this.#run.steps.current?.cut()
      this.#run.checkpoint ??= checkpointOf(this.#run, 'cancelled')
      return undefined
    } catch (error) {
      // Told by the run's result: a time limit that makes a cancel `now` has nobody to throw to.
      return error as CheckpointStoreError
    }
  }

  /** Milliseconds that what it has at work is still waited for. */
  get graceLeft(): number {
    this.#graceBegan ??= performance.now()
    return Math.max(0, this.#run.config.grace - (performance.now() - this.#graceBegan))
  }
}
