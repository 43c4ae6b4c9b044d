/** Limits the time of a tool's function, and passes on the progress that it yields until then. */

import { turnIfDue } from '../flow/event-loop.ts'
import type { Flow } from '../flow/flow.ts'
import { timer } from '../flow/grace.ts'
import { isRecord } from '../vocabulary/json.ts'
import { ToolTimeoutError } from '../vocabulary/tool-errors.ts'
import { NO_PROGRESS, type Progress } from '../vocabulary/tool-status.ts'

interface TimeLimitOptions {
  readonly tool: string
  /** In milliseconds; absent means no limit. */
  readonly ms: number | undefined
  /** How long it waits for the function after its time is over, in milliseconds. */
  readonly grace: number
  /** The signal of the function. Once something else aborts it, this limit no longer applies. */
  readonly signal: AbortSignal
  abort(reason: unknown): void
}

/** The time limit of a function. Its time begins with the constructor and ends with {@link over}. */
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

  /** Returns the outcome of the function. When its time is over, this throws {@link ToolTimeoutError}, even if the function ends later. */
  async *outcome(given: unknown): Flow<Progress, unknown> {
    if (!isGenerator(given)) return await this.#wait(given)
    let closed = false
    try {
      for (;;) {
        // The time limit or an abort came while a reader processed the last report.
        if (this.#error) throw this.#error
        this.#options.signal.throwIfAborted()
        const step = await this.#wait(given.next())
        if (step.done) {
          closed = true
          return step.value
        }
        if (!isRecord(step.value)) throw new TypeError(`${this.#options.tool} ${NO_PROGRESS}`)
        yield step.value
        const turn = turnIfDue()
        if (turn) await turn
      }
    } finally {
      // Runs the generator's `finally` blocks. If it still waits for something, they run at its next yield.
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
    // Comes first, so that the grace times of everything that this abort stops end before this one.
    abort(error)
    this.#timer = timer(grace, () => {
      this.#isAbandoned = true
      this.#reject(error)
    })
  }

  /** Like `Promise.race`, which would add a reaction to the losing promise each time; a generator may yield any number of times. */
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

function isGenerator(value: unknown): value is AsyncIterator<Progress, unknown> {
  return isRecord(value) && Symbol.asyncIterator in value && 'next' in value
}
