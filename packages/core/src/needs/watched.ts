/** A promise that tells when it is first waited for. */

/** The same outcome as `promise`; `awaited` is called once, when somebody first waits for it. Always has a handler. */
export function watched<T>(promise: Promise<T>, awaited: () => void): Promise<T> {
  const watched = new Watched<T>((resolve, reject) => {
    promise.then(resolve, reject)
  })
  watched.catch(() => undefined)
  watched.awaited = awaited
  return watched
}

/** `await` asks a promise for its `then` only if its class is not the built-in one. */
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
