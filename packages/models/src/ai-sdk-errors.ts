/** What the errors of the AI SDK mean, by their form: `instanceof` would ask for one copy of one version. */

import type { Explain } from '@meanwhile/core'
import { ConfigError } from '@meanwhile/core'
import { explain, StreamedError } from './explain.ts'
import { isRecord } from './is-record.ts'

/**
 * An error of the provider's HTTP answer, or of its stream, is classed by its own status, code and headers, as with the
 * official clients; where it has no status, by what the AI SDK says of it. After a chunk that nobody could read a retry may do.
 */
export const explainAiSdk: Explain = (thrown) => {
  const said = thrown instanceof StreamedError ? thrown.error : thrown
  if (isCallError(said)) return { ...ofCall(said), cause: said }
  if (isNamed(said, UNREADABLE)) {
    const { message, text, value, data = value ?? text } = said
    return { code: 'invalid_chunk', retryable: true, message, data, cause: said }
  }
  if (said instanceof Error) return explain(said)
  const explained = explain(thrown)
  return typeof said === 'string' && explained ? { ...explained, message: said } : explained
}

/** What a provider refuses before it asks, as an error of our own: a part of the messages that it cannot carry. */
export function refused(thrown: unknown): ConfigError | undefined {
  return isNamed(thrown, UNSUPPORTED) ? new ConfigError('messages', thrown.message) : undefined
}

const UNREADABLE = /^AI_(JSONParse|TypeValidation|InvalidResponseData)Error$/

const UNSUPPORTED = /^AI_(UnsupportedFunctionality|InvalidPrompt)Error$/

/** What nobody could read is the `text`, the `value` or the `data` of such an error. */
function isNamed(thrown: unknown, name: RegExp): thrown is Error & Partial<Record<'text' | 'value' | 'data', unknown>> {
  return thrown instanceof Error && name.test(thrown.name)
}

/** `APICallError`, or what newer providers put into an `error` part. */
interface CallError {
  readonly message: string
  readonly code?: unknown
  readonly type?: unknown
  readonly statusCode?: number | undefined
  readonly isRetryable?: boolean | undefined
  readonly responseHeaders?: Readonly<Record<string, string>>
  readonly responseBody?: string
  readonly data?: unknown
}

function isCallError(thrown: unknown): thrown is CallError {
  return isRecord(thrown) && 'isRetryable' in thrown && typeof thrown.message === 'string'
}

/** In the form that the official clients give to the same error. */
function ofCall(said: CallError): NonNullable<ReturnType<Explain>> {
  const { message, statusCode: status, responseHeaders: headers } = said
  const error = bodyOf(said)
  const form = { status, error, headers: { get: (name: string) => headers?.[name] ?? null } }
  const explained = explain(Object.assign(new Error(message), form))
  const retryable = status === undefined ? said.isRetryable : explained?.retryable
  return { code: 'unknown', ...explained, message, retryable: retryable ?? false, data: wholeBodyOf(said) }
}

/** Not the error itself: it holds the request as well. */
function wholeBodyOf({ code, type, message, data, responseBody }: CallError): unknown {
  const body = parsed(responseBody) ?? responseBody ?? data
  return body ?? (code === undefined && type === undefined ? undefined : { code, type, message })
}

function bodyOf({ code, type, data, responseBody }: CallError): unknown {
  if (code !== undefined || type !== undefined) return { code, type }
  const body = data ?? parsed(responseBody)
  // A `response.failed` event.
  return isRecord(body) && isRecord(body.response) ? body.response : body
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    // A page for people.
    return undefined
  }
}
