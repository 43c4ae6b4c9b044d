/** Explains the errors of the AI SDK by their shape; `instanceof` would require one copy of one version. */

import type { Explain } from '@meanwhile/assemble'
import { errorBody, errorIn } from './error-body.ts'
import { explain, StreamedError } from './explain.ts'
import { isRecord } from './is-record.ts'
import { parsedJson } from './parsed-json.ts'
import { textIn, wordIn } from './wire-values.ts'

/**
 * Explains an HTTP error of the provider, or an error in its stream, by its status, code and headers, as for the
 * official clients. If it has no status, the AI SDK's own classification applies. A chunk that cannot be read is
 * retryable.
 */
export const explainAiSdk: Explain = (thrown) => {
  const said = thrown instanceof StreamedError ? thrown.error : thrown
  if (isCallError(said)) return { ...ofCall(said), cause: said }
  if (isUnreadable(said)) {
    const { message, text, value, data = value ?? text } = said
    // A host may send an error in a form that its package does not know.
    const error = errorIn(value ?? parsedJson(text))
    const told = error === undefined ? undefined : explain(new StreamedError(error))
    if (told) return { ...told, cause: said }
    return { code: 'invalid_chunk', retryable: true, message, data, cause: said }
  }
  if (said instanceof Error && FIRST_UNREADABLE.test(said.message)) {
    return { code: 'invalid_chunk', retryable: true, message: 'the first event could not be read', cause: said }
  }
  if (said instanceof Error) return explain(said)
  const explained = explain(thrown)
  return typeof said === 'string' && explained ? { ...explained, message: said } : explained
}

/** The words of the AI SDK's error for content that a provider does not support; `undefined` for other errors. */
export function refusalIn(thrown: unknown): string | undefined {
  return isNamed(thrown, UNSUPPORTED) ? thrown.message : undefined
}

const UNREADABLE = /^AI_(JSONParse|TypeValidation|InvalidResponseData)Error$/

/** What Anthropic's package throws if it cannot read the first event, for example because it is a comment (qT19). */
const FIRST_UNREADABLE = /^Expected a normalized Anthropic stream error$/

const UNSUPPORTED = /^AI_(UnsupportedFunctionality|InvalidPrompt)Error$/

/** Whether a package could not read a chunk. */
export function isUnreadable(thrown: unknown): thrown is Unreadable {
  return isNamed(thrown, UNREADABLE)
}

/**
 * Whether the unreadable chunk is only comments. Some gateways send comments as data to keep the connection open
 * (qT19). An event may follow them in the same chunk.
 */
export function isComment(thrown: unknown): boolean {
  if (!isUnreadable(thrown)) return false
  const lines = textIn(thrown.text).split('\n')
  return lines.every((line) => line.trimStart().startsWith(':'))
}

/**
 * Whether the unreadable chunk is a single word, or a number. Gateways send these, in events with other names, to
 * keep the connection open (qT19), but the packages hide the name of an event.
 */
export function isWord(thrown: unknown): boolean {
  if (!isUnreadable(thrown)) return false
  const { value, text = value } = thrown
  return /^[\w.-]{1,64}$/.test(wordIn(text)?.trim() ?? '')
}

type Unreadable = Error & { readonly text?: unknown; readonly value?: unknown; readonly data?: unknown }

/** The unreadable content is the error's `text`, `value` or `data`. */
function isNamed(thrown: unknown, name: RegExp): thrown is Unreadable {
  return thrown instanceof Error && name.test(thrown.name)
}

/** An `APICallError`, or the error that newer providers put into an `error` part. */
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

/** Converts it to the shape in which the official clients report the same error. */
function ofCall(said: CallError): NonNullable<ReturnType<Explain>> {
  const { statusCode: status, responseHeaders: headers } = said
  const message = messageIn(said)
  const error = bodyOf(said)
  const form = { status, error, headers: { get: (name: string) => headers?.[name] ?? null } }
  const explained = explain(Object.assign(new Error(message), form))
  const retryable = status === undefined ? said.isRetryable : explained?.retryable
  // The packages have no message for an error in a form of another provider.
  return {
    code: 'unknown',
    ...explained,
    message: message || (explained?.message ?? ''),
    retryable: retryable ?? false,
    data: wholeBodyOf(said),
  }
}

/** The words of the error. A package that could not read the body has only those of the status. */
function messageIn({ message, data, responseBody }: CallError): string {
  if (data !== undefined || !responseBody) return message
  const body = parsedJson(responseBody)
  if (body !== undefined) return errorBody(errorIn(body) ?? body).message ?? message
  // Not a page.
  return /^\s*</.test(responseBody) ? message : responseBody.trim()
}

/** Returns the body of the error, not the error itself, which also contains the request. */
function wholeBodyOf({ code, type, message, data, responseBody }: CallError): unknown {
  const body = parsedJson(responseBody) ?? responseBody ?? data
  return body ?? (code === undefined && type === undefined ? undefined : { code, type, message })
}

function bodyOf({ code, type, data, responseBody }: CallError): unknown {
  if (code !== undefined || type !== undefined) return { code, type }
  const body = data ?? parsedJson(responseBody)
  // A `response.failed` event.
  return isRecord(body) && isRecord(body.response) ? body.response : body
}
