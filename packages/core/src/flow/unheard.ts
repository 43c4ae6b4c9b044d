/** Returns the same value. If it is a promise, its rejection is never reported as unhandled; code that awaits it still receives the rejection. */
export function unheard<Value>(value: Value): Value {
  if (value instanceof Promise) value.catch(() => undefined)
  return value
}

/** Returns a promise that somebody else settles. Its rejection need not be handled. */
export function coming<T>(): PromiseWithResolvers<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  return { promise: unheard(promise), resolve, reject }
}
