/** Measures how long an execution waits for the rest of its input, because that time does not count as work. */

import type { AwaitedRest } from '../state/capabilities.ts'

export class Wait implements AwaitedRest {
  readonly promise: Promise<unknown>
  #since = Number.POSITIVE_INFINITY
  until: number | undefined

  constructor(rest: Promise<unknown>) {
    const over = () => this.over()
    this.promise = watched(rest, () => {
      this.#since = performance.now()
      rest.then(over, over)
    })
  }

  over(): void {
    this.until ??= performance.now()
  }

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
