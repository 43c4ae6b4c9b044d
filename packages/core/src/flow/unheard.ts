/** Returns the same value. If it is a promise, its rejection is never reported as unhandled; code that awaits it still receives the rejection. */
export function unheard<Value>(value: Value): Value {
  if (value instanceof Promise) value.catch(() => undefined)
  return value
}

/**
 * A promise with the functions that settle it. It stands in declarations, so it is not `PromiseWithResolvers`: a user's project with
 * `lib: ["es2023"]` does not have that.
 */
export interface Coming<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
  readonly reject: (reason: unknown) => void
}

/** Returns a promise that somebody else settles. Its rejection need not be handled. */
export function coming<T>(): Coming<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  return { promise: unheard(promise), resolve, reject }
}
