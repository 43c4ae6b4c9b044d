/**
 * Keeps the bodies of HTTP errors. The official clients lose them: OpenAI's exposes only the member `error`, and each
 * throws a `RangeError` in place of its error, without the status, if the body is nested too deeply for
 * `JSON.stringify`.
 */

import { errorBody } from './error-body.ts'

/** The clients' own method that makes the error of a response. It is the only place that knows both. */
type MakeStatusError = (status: number, body: unknown, message: string | undefined, headers: unknown) => object

const bodies = new WeakMap<object, unknown>()
const ours = new WeakSet<object>()

/**
 * Gives the client its own method `makeStatusError`, which calls the original one. Nothing happens if the client
 * has no such method, is frozen, or has got the method before.
 */
export function keepBodies(client: object): void {
  try {
    const original: unknown = Reflect.get(client, METHOD)
    // A proxy may return another function each time.
    const own: unknown = Reflect.getOwnPropertyDescriptor(client, METHOD)?.value
    if (!isMethod(original) || (isMethod(own) && ours.has(own))) return
    const keeping = keepingBodies(original)
    const isSet = Reflect.defineProperty(client, METHOD, { value: keeping, configurable: true, writable: true })
    if (isSet) ours.add(keeping)
  } catch {
    // A proxy refuses to be read or changed: its errors stay as they are.
  }
}

/** The whole body of the response that this error was made for, if it is known. */
export function bodyOf(error: object): unknown {
  return bodies.get(error)
}

const METHOD = 'makeStatusError'

function isMethod(value: unknown): value is MakeStatusError {
  return typeof value === 'function'
}

function keepingBodies(original: MakeStatusError): MakeStatusError {
  return function makeStatusError(this: unknown, status, body, message, headers) {
    const make = (shown: unknown) => Reflect.apply(original, this, [status, shown, message, headers])
    let error: object
    try {
      error = make(body)
    } catch (thrown) {
      if (!(thrown instanceof RangeError)) throw thrown
      const { code, type, message: words } = errorBody(body)
      error = make({ error: { code, type, message: words ?? 'the body of the response is nested too deeply' } })
    }
    bodies.set(error, body)
    return error
  }
}
