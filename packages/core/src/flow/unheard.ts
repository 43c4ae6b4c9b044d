/**
 * The same value. If it is a promise, nobody need wait for it: what it rejects with reaches whoever does, and is nowhere an unhandled
 * rejection.
 */
export function unheard<Value>(value: Value): Value {
  if (value instanceof Promise) value.catch(() => undefined)
  return value
}

/** A promise, and what settles it. */
export interface Coming<T> {
  /** Always has a handler: nobody need wait for it. */
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
  readonly reject: (reason: unknown) => void
}

export function coming<T>(): Coming<T> {
  let resolve: (value: T) => void = () => undefined
  let reject: (reason: unknown) => void = () => undefined
  const promise = new Promise<T>((...settle) => {
    ;[resolve, reject] = settle
  })
  return { promise: unheard(promise), resolve, reject }
}
