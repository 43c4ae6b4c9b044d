/** What an execution came to, told once: a wrap that is entered again after a resume gets it again (L8). */

import type { Invocation } from '../tool-call/invocation.ts'
import { ToolTimeoutError } from '../tool-errors.ts'
import type { Execution } from './execution.ts'
import type { Host } from './tool-host.ts'

/** Of one that the wrap that asked has left. */
const CUT_OFF = 'The call was cut off before its result was known: its effect may have happened.'

export class ExecutionOutcome<Result> {
  /** Set when it begins. */
  execution: Execution | undefined
  readonly #host: Host<Result>
  readonly #invocation: Invocation
  /** The call's: if that aborts, it is the call that was cut off. */
  readonly #call: AbortSignal
  /** The execution's. */
  readonly #own: AbortSignal
  #isTold = false

  constructor(host: Host<Result>, invocation: Invocation, call: AbortSignal, own: AbortSignal) {
    this.#host = host
    this.#invocation = invocation
    this.#call = call
    this.#own = own
  }

  gave(result: Result): void {
    this.#tell(this.#timedOut ? { error: this.#timedOut } : { result })
  }

  threw(thrown: unknown): void {
    const error = this.#timedOut ?? thrown
    if (!answersAbort(error, this.#own.aborted)) this.#tell({ error })
  }

  /** Its function is out, or nobody waits for it any more. */
  ended(thrown?: unknown): void {
    const { execution } = this
    if (!execution) return
    execution.ended = performance.now()
    execution.aborted = this.#own.aborted
    const error = this.#timedOut ?? thrown
    if (error !== undefined) execution.error = error
  }

  /** It was to stop alone, and goes on beyond its grace time: what comes of it later reaches nothing (K13). */
  abandon(): void {
    if (this.execution) this.execution.abandoned = true
    this.ended()
    this.over()
  }

  /** Nobody waits for it any more. If it had not come to anything by then, and its wrap has left it, it may have happened. */
  over(): void {
    if (this.#own.aborted && !this.#call.aborted && this.execution?.entered)
      this.#tell({ error: this.#timedOut ?? new Error(CUT_OFF) })
  }

  /** What has stopped it alone, if that is a time limit, whoever's: then that is what it came to, whatever comes late (I10, N11). */
  get #timedOut(): ToolTimeoutError | undefined {
    const reason: unknown = this.#own.reason
    const isOwn = reason instanceof ToolTimeoutError && reason !== this.#call.reason
    return isOwn && this.execution?.entered ? reason : undefined
  }

  #tell(outcome: Parameters<Host<Result>['came']>[1]): void {
    if (!this.#isTold) this.#host.came(this.#invocation, outcome)
    this.#isTold = true
  }
}

/** Whether what an execution threw answers its abort: all does, once its signal has aborted, but the error of its own time limit. */
export function answersAbort(error: unknown, aborted: boolean): boolean {
  return aborted && !(error instanceof ToolTimeoutError)
}
