/**
 * The same value. If it is a promise, nobody need wait for it: what it rejects with reaches whoever does, and is nowhere an unhandled
 * rejection.
 */
export function unheard<Value>(value: Value): Value {
  if (value instanceof Promise) value.catch(() => undefined)
  return value
}
