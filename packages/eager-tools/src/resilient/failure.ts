/** What an error of a model call means: whether the same request may succeed, when, and its name on a span. */

import { ModelError, messageOf } from '@meanwhile/core'

/** HTTP statuses of a faulty request: the same model would answer the same again. */
const FAULTY: ReadonlySet<unknown> = new Set([400, 401, 403, 404, 422])

/** Finish reasons of a response that is not whole. */
export const BROKEN: ReadonlySet<unknown> = new Set(['error', 'interrupted'])

/** How many causes of an error are named. */
const DEEPEST = 5

/** The error of a response whose stream ends without what says that it is complete. */
export function cutOff(end = 'finish part'): ModelError {
  return new ModelError(`the response was cut off: its stream ended without a ${end}`, {
    code: 'stream_truncated',
    retryable: true,
  })
}

/** The error of a response that ends with a finish reason after which it is repeated. */
export function endedWith(reason: string): ModelError {
  return new ModelError(`the response ended with the finish reason ${reason}`, {
    code: 'finish_reason_error',
    retryable: true,
  })
}

/**
 * The message of an error and of its causes. A client may hide what has happened in them: of a connection that is lost, the
 * AI SDK says "Failed to process successful response".
 */
export function messagesOf(error: unknown): string {
  const messages: string[] = []
  for (let at = error, deep = 0; at != null && deep < DEEPEST; at = fieldsOf(at).cause, deep++) {
    const message = messageOf(at)
    if (!messages.some((said) => said.includes(message))) messages.push(message)
  }
  return messages.join(': ')
}

/** Whether the work was aborted, which is never repeated. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}

/** Whether a time limit of the library has ended the work. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError'
}

/** Whether the same model would fail again. */
export function isFinal(error: unknown): boolean {
  const { isRetryable, statusCode, status } = fieldsOf(error)
  return isRetryable === false || FAULTY.has(statusCode ?? status)
}

/** How long the provider asks to wait, in milliseconds; 0 if it does not. Clients name the headers in two ways. */
export function retryAfter(error: unknown): number {
  const { responseHeaders, headers } = fieldsOf(error)
  const of = (name: string) =>
    headers instanceof Headers ? headers.get(name) : fieldsOf(responseHeaders ?? headers)[name]
  const ms = Number(of('retry-after-ms') ?? Number.NaN)
  if (ms >= 0) return ms
  const after = of('retry-after')
  if (typeof after !== 'string') return 0
  const until = Number.isNaN(Number(after)) ? Date.parse(after) - Date.now() : Number(after) * 1_000
  return until > 0 ? until : 0
}

/** The `error.type` of a failed attempt: our own code, an HTTP status, or the name of the error. It has no text of a provider. */
export function errorType(error: unknown): string {
  if (error instanceof ModelError) return error.code
  const { statusCode, status = statusCode } = fieldsOf(error)
  // A stream that breaks off may have the status of its beginning.
  if (typeof status === 'number' && status >= 400) return String(status)
  return error instanceof Error ? error.name : '_OTHER'
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return Object(value)
}
