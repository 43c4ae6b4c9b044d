/** Runs a tool's function under its time limit. */

import { turnIfDue } from '../flow/event-loop.ts'
import type { Flow } from '../flow/flow.ts'
import { timer } from '../flow/grace.ts'
import { isRecord } from '../vocabulary/json.ts'
import { ToolTimeoutError } from '../vocabulary/tool-errors.ts'
import type { Progress } from '../vocabulary/tool-status.ts'

interface TimeLimitOptions {
  readonly tool: string
  /** Milliseconds; absent: no limit. */
  readonly ms: number | undefined
  /** How long the function is waited for once its time is over, in milliseconds. */
  readonly grace: number
  /** The function's. Once something else aborts it, that decides how long it is waited for. */
  readonly signal: AbortSignal
  abort(reason: unknown): void
}

/** The clock runs from the construction until {@link over}. */
export class TimeLimit {
  readonly #options: TimeLimitOptions
  #timer: ReturnType<typeof timer>
  #error: ToolTimeoutError | undefined
  #isAbandoned = false
  #reject: (reason: unknown) => void = () => undefined

  constructor(options: TimeLimitOptions) {
    this.#options = options
    if (options.ms === undefined) return
    this.#timer = timer(options.ms, () => this.#end(options.ms ?? 0))
    options.signal.addEventListener('abort', this.over, { once: true })
  }

  /** What the function gave. Time over, it is {@link ToolTimeoutError}, whatever comes late. */
  async *outcome(given: unknown): Flow<Progress, unknown> {
    if (!isGenerator(given)) return await this.#wait(given)
    let closed = false
    try {
      for (;;) {
        const turn = turnIfDue()
        if (turn) await turn
        // It was over, or is aborted, while somebody held the last report.
        if (this.#error) throw this.#error
        this.#options.signal.throwIfAborted()
        const step = await this.#wait(given.next())
        if (step.done) {
          closed = true
          return step.value
        }
        if (!isRecord(step.value)) throw new TypeError(`${this.#options.tool} ${NO_PROGRESS}`)
        yield step.value
      }
    } finally {
      // It comes to its `finally` blocks: one that is late at its next yield (I14).
      if (!closed) await this.#wait(given.return?.())
    }
  }

  readonly over = (): void => {
    clearTimeout(this.#timer)
    this.#options.signal.removeEventListener('abort', this.over)
  }

  #end(ms: number): void {
    const { tool, grace, abort, signal } = this.#options
    signal.removeEventListener('abort', this.over)
    const error = new ToolTimeoutError(tool, ms)
    this.#error = error
    // First: whoever is told of the abort has its own grace time over before this one.
    abort(error)
    this.#timer = timer(grace, () => {
      this.#isAbandoned = true
      this.#reject(error)
    })
  }

  /** No race: each would leave a reaction on the promise that it lost to, and a generator may yield without end. */
  async #wait<Value>(work: Value | PromiseLike<Value>): Promise<Value> {
    try {
      const value = await new Promise<Value>((resolve, reject) => {
        this.#reject = reject
        Promise.resolve(work).then(resolve, reject)
        if (this.#isAbandoned) reject(this.#error)
      })
      if (this.#error) throw this.#error
      return value
    } catch (error) {
      throw this.#error ?? error
    }
  }
}

const NO_PROGRESS = 'yielded what is no progress: { progress, message, metadata }, each if there is something to say'

function isGenerator(value: unknown): value is AsyncIterator<Progress, unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value && 'next' in value
}
