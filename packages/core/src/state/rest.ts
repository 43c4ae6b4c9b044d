/** The rest of the input of a call that has started with only the members that its tool needs. */

import type { ToolCall } from '../vocabulary/message.ts'

/** The part that a call uses. It receives its complete input here. */
export interface Rest<Call> {
  /** The call as it started. */
  readonly started: ToolCall
  /** Whether the complete input has not arrived yet. */
  readonly isOpen: boolean
  /** Resolves when it is known whether the complete input is valid. */
  readonly checked: Promise<unknown>
  /** The call with its complete input. Rejects if the call is discarded before. */
  readonly whole: Promise<ToolCall>
  /** Called when the call has started: it receives its complete input, or an error if there will be none. */
  follow(entry: Call, whole: Promise<ToolCall>): void
  /** Called when the complete input has arrived: the call continues, or is discarded if its members are different. */
  complete(entry: Call, call: ToolCall): void
  /** What one execution receives. Rejects, and discards the call, if the call may not start early after all. */
  given(entry: Call, call: ToolCall): Promise<Given>
  /** Called when the rest will not arrive, or must not be used. */
  fail(reason: unknown): void
}

/** What `execute` receives of its call's input: all of it, or the needed members and the rest. */
export interface Given {
  readonly input: unknown
  readonly rest?: Wait
}

/**
 * The rest of an input for one execution, which waits for it from the moment it first awaits it, because that time does not count as work. Times are in
 * `performance.now()`.
 */
export class Wait {
  readonly promise: Promise<unknown>
  #since = Number.POSITIVE_INFINITY
  /** When it arrived, or when the execution ended. */
  until: number | undefined

  constructor(rest: Promise<unknown>) {
    const over = () => this.over()
    rest.then(over, over)
    this.promise = watched(rest, () => {
      this.#since = performance.now()
    })
  }

  /** Called when the rest has arrived, or the execution has ended. */
  over(): void {
    this.until ??= performance.now()
  }

  /** Returns for how many milliseconds between two times the rest was awaited. */
  within(from: number, to: number): number {
    return Math.max(0, Math.min(to, this.until ?? to) - Math.max(from, this.#since))
  }
}

/** Returns a promise with the same outcome. `awaited` is called once, when it is first awaited. Its rejection need not be handled. */
export function watched<T>(promise: Promise<T>, awaited: () => void): Promise<T> {
  const watched = new Watched<T>((resolve, reject) => {
    promise.then(resolve, reject)
  })
  watched.catch(() => undefined)
  watched.awaited = awaited
  return watched
}

/** Subclasses `Promise`, because `await` calls `then` only on a promise of another class than the built-in one. */
class Watched<T> extends Promise<T> {
  awaited: (() => void) | undefined

  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  override then<Result1 = T, Result2 = never>(
    fulfilled?: ((value: T) => Result1 | PromiseLike<Result1>) | null,
    rejected?: ((reason: unknown) => Result2 | PromiseLike<Result2>) | null,
  ): Promise<Result1 | Result2> {
    const { awaited } = this
    this.awaited = undefined
    awaited?.()
    return super.then(fulfilled, rejected)
  }
}
