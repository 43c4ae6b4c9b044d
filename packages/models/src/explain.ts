/**
 * Turns the errors of the official clients into the data of a `ModelError`, whichever copy of a client is installed.
 */

import type { Explain, ReadChunk } from '@meanwhile/assemble'
import { AgentError, type ModelErrorData, messageOf } from '@meanwhile/core'
import { ClientCallError } from './client-call-error.ts'
import { defined } from './defined.ts'
import { errorBody } from './error-body.ts'
import { IdleError } from './idle-limit.ts'
import { isRecord } from './is-record.ts'
import { RestartedError } from './single-response.ts'
import { bodyOf } from './status-errors.ts'
import type { FailedEnd } from './stop-reason.ts'
import { WrongApiError } from './wrong-api.ts'

type Explanation = ModelErrorData & { readonly message: string }

/** An error that the provider sent as a normal event of its stream, in the shape of the official clients' errors. */
export class StreamedError extends Error {
  override readonly name = 'StreamedError'
  readonly status: undefined
  readonly error: unknown

  constructor(error: unknown) {
    super('the provider sent an error in its stream')
    this.status = undefined
    this.error = error
  }
}

/** An event of a stream that does not match its wire; or, if the stream ended inside it, an incomplete event. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError'
  readonly cut: boolean
  /** The text received instead, if it is known. */
  readonly said: string | undefined

  constructor({ cut = false, said, cause }: Partial<Pick<UnreadableError, 'cut' | 'said' | 'cause'>> = {}) {
    super(
      cut ? 'the response was truncated: its stream ended inside an event' : unreadable(said),
      cause === undefined ? undefined : { cause },
    )
    this.cut = cut
    this.said = said
  }
}

/** Returns the message. It quotes plain text that came in place of the event, but not JSON, which may contain content. */
function unreadable(said = ''): string {
  const words = /^[^\s{}[\]<"][^<{]*/.exec(said.trimStart().slice(0, LONGEST_WORDS))
  return words ? `an event could not be read: ${words[0].trimEnd()}` : 'an event could not be read'
}

const LONGEST_WORDS = 300

/** Events of one stream contradict each other about a call, and it cannot be decided which is right. */
export class ContradictionError extends Error {
  override readonly name = 'ContradictionError'
  readonly call: { readonly id?: string; readonly name?: string } | undefined

  /** `call`: the id and the name of the call, as far as they are known. */
  constructor(message: string, call?: { readonly id?: string | undefined; readonly name?: string | undefined }) {
    super(message)
    this.call = call && defined({ id: call.id, name: call.name })
  }
}

/** The end of a response that turns out to be contradictory only when it ends. */
export function invalidEnd(message: string): FailedEnd {
  return { code: INVALID_CHUNK, message }
}

const INVALID_CHUNK = 'invalid_chunk'

/** Returns the same reader, which throws {@link UnreadableError} if a chunk lacks a member that its wire requires. */
export function readSafely<Chunk>(read: ReadChunk<Chunk>): ReadChunk<Chunk> {
  return (chunk, to) => {
    try {
      read(chunk, to)
    } catch (thrown) {
      throw thrown instanceof TypeError ? new UnreadableError({ cause: thrown }) : thrown
    }
  }
}

/**
 * Which errors are retryable:
 * - HTTP errors by their status (408, 409, 429, 5xx), unless `x-should-retry` decides otherwise;
 * - errors inside a stream by the status that their code stands for (qT8, qT9, qT10);
 * - always: a connection that failed or was silent too long (qT7), an unreadable event, a contradiction, a second
 *   response (qT14).
 *
 * Core's own errors are passed on unchanged.
 */
export const explain: Explain = (thrown) => {
  if (thrown instanceof AgentError) return undefined
  if (isApiError(thrown)) return thrown.status === undefined ? ofStream(thrown) : ofStatus(thrown, thrown.status)
  if (thrown instanceof UnreadableError) {
    const told = explanation(thrown, thrown.cut ? 'stream_truncated' : INVALID_CHUNK, true)
    return { ...told, data: thrown.said }
  }
  if (thrown instanceof ContradictionError) {
    return { ...explanation(thrown, INVALID_CHUNK, true), ...defined({ data: thrown.call }) }
  }
  if (thrown instanceof RestartedError) return explanation(thrown, 'stream_restarted', true)
  if (thrown instanceof IdleError) return explanation(thrown, 'idle_timeout', true)
  if (thrown instanceof WrongApiError) return explanation(thrown, 'wrong_api', false)
  if (thrown instanceof ClientCallError) return explanation(thrown, 'unsupported_call', false)
  if (thrown instanceof SyntaxError) return explanation(thrown, INVALID_CHUNK, true)
  if (isTransportError(thrown)) return ofConnection(thrown)
  return explanation(thrown, 'unknown', false)
}

/** The clients' error classes are recognized by their shape; `instanceof` would require one copy of one version. */
interface ApiError extends Error {
  readonly status: number | undefined
  readonly error: unknown
  readonly headers?: { get(name: string): string | null } | undefined
}

function isApiError(thrown: unknown): thrown is ApiError {
  if (!(thrown instanceof Error && 'status' in thrown && 'error' in thrown)) return false
  return thrown.status === undefined || typeof thrown.status === 'number'
}

function ofStatus(thrown: ApiError, status: number): Explanation {
  const body = bodyOf(thrown) ?? thrown.error
  const { code, type, message } = errorBody(body)
  const advice = thrown.headers?.get('x-should-retry')
  const retryable = advice === 'true' || (advice !== 'false' && isRetryable(status, code))
  return {
    ...explanation(thrown, code ?? type ?? String(status), retryable),
    ...defined({ message, retryAfter: retryAfter(thrown.headers) }),
    status,
    data: body ?? textOf(thrown, status),
  }
}

/** If the body is not JSON, the clients put it into the message, after the status. */
function textOf({ message }: ApiError, status: number): string | undefined {
  const text = message.startsWith(`${status} `) ? message.slice(`${status} `.length) : ''
  return text === '' || text === 'status code (no body)' ? undefined : text
}

function ofStream(thrown: ApiError): Explanation {
  // Without a body, the connection failed, timed out, or was given up by the client.
  if (thrown.error === undefined) return ofConnection(thrown)
  const { code, type, message, status } = errorBody(thrown.error)
  const retryable = status !== undefined && isRetryable(status, code)
  const told = explanation(thrown, code ?? type ?? 'unknown', retryable)
  return { ...told, ...defined({ message, status }), data: thrown.error }
}

/** The clients' message is `Connection error.` and that of `fetch` is `fetch failed`; the reason is in their causes. */
function ofConnection(thrown: unknown): Explanation {
  const told = explanation(thrown, 'connection', true)
  const root = rootOf(thrown)
  if (told.message.includes(root)) return told
  return { ...told, message: `${told.message.replace(/\.$/, '')}: ${root}` }
}

/** The message of the innermost cause that is more than its name. */
function rootOf(thrown: unknown): string {
  let root = ''
  let cause = thrown
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth += 1) {
    const said = messageOf(cause)
    if (root === '' || said !== cause.name) root = said
    cause = cause.cause
  }
  return root
}

function explanation(thrown: unknown, code: string, retryable: boolean): Explanation {
  return { code, retryable, message: messageOf(thrown) || code, cause: thrown }
}

/** Causes may be circular. */
const MAX_CAUSES = 5

/** An account without credit also gets 429, but waiting does not help. */
function isRetryable(status: number, code: string | undefined): boolean {
  if (code === 'insufficient_quota') return false
  return status === 408 || status === 409 || status === 429 || status >= 500
}

/** In milliseconds; from `retry-after-ms`, or from `retry-after` in seconds or as a date. */
function retryAfter(headers: ApiError['headers']): number | undefined {
  const ms = Number.parseFloat(headers?.get('retry-after-ms') ?? '')
  if (!Number.isNaN(ms)) return Math.max(0, ms)
  const after = headers?.get('retry-after') ?? ''
  const wait = /^\s*[\d.]+\s*$/.test(after) ? Number.parseFloat(after) * 1000 : Date.parse(after) - Date.now()
  return Number.isNaN(wait) ? undefined : Math.max(0, Math.round(wait))
}

/** Codes of the system and of undici: `ECONNRESET`, `EPIPE`, `UND_ERR_SOCKET` … */
const TRANSPORT_CODE = /^(E[A-Z]+|UND_ERR_[A-Z_]+|HPE_[A-Z_]+)$/
/** Messages of fetch errors without a cause, in Node and in browsers. */
const TRANSPORT_MESSAGE = /^(fetch failed|terminated|failed to fetch|network error|load failed)$/i

/** A socket that failed while the body was read: undici puts its code on the cause, other runtimes on the error. */
function isTransportError(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false
  if (thrown instanceof TypeError && (thrown.cause instanceof Error || TRANSPORT_MESSAGE.test(thrown.message)))
    return true
  return hasTransportCode(thrown) || hasTransportCode(thrown.cause)
}

function hasTransportCode(thrown: unknown): boolean {
  return isRecord(thrown) && typeof thrown.code === 'string' && TRANSPORT_CODE.test(thrown.code)
}
