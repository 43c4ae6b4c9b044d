/** What the errors of the official clients mean, whichever copy of them is installed. */

import type { Explain, ModelErrorData, ReadChunk } from '@meanwhile/core'
import { AgentError, messageOf } from '@meanwhile/core'
import { ClientCallError } from './client-call-error.ts'
import { defined } from './defined.ts'
import { IdleError } from './idle-limit.ts'
import { isRecord } from './is-record.ts'
import { RestartedError } from './single-response.ts'

type Explanation = ModelErrorData & { readonly message: string }

/** An error the provider sent as an ordinary event of its stream, in the form the official clients give to theirs. */
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

/** An event of a stream that is not what its wire has there; or, if the stream ended in the middle of it, is not whole. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError'
  readonly cut: boolean
  /** What came instead, where that is known. */
  readonly said: string | undefined

  constructor({ cut = false, said, cause }: Partial<Pick<UnreadableError, 'cut' | 'said' | 'cause'>> = {}) {
    const message = cut ? 'the response was cut off: its stream ended inside an event' : 'an event could not be read'
    super(message, cause === undefined ? undefined : { cause })
    this.cut = cut
    this.said = said
  }
}

/** What a stream says of a call is not what it said before: nobody can tell which of the two is meant. */
export class ContradictionError extends Error {
  override readonly name = 'ContradictionError'
}

/** The same reader; what is not where the wire has it is an {@link UnreadableError}. */
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
 * An HTTP error is retryable by its status (408, 409, 429, 5xx) unless `x-should-retry` says otherwise, an error inside a stream
 * by the status its own code stands for (qT8, qT9, qT10), and a connection that broke, fell silent (qT7), said what nobody can read,
 * contradicted itself or began a second response (qT14) always. Errors of core pass as they are.
 */
export const explain: Explain = (thrown) => {
  if (thrown instanceof AgentError) return undefined
  if (isApiError(thrown)) return thrown.status === undefined ? ofStream(thrown) : ofStatus(thrown, thrown.status)
  if (thrown instanceof UnreadableError) {
    const told = explanation(thrown, thrown.cut ? 'stream_truncated' : 'invalid_chunk', true)
    return { ...told, data: thrown.said }
  }
  if (thrown instanceof ContradictionError) return explanation(thrown, 'invalid_chunk', true)
  if (thrown instanceof RestartedError) return explanation(thrown, 'stream_restarted', true)
  if (thrown instanceof IdleError) return explanation(thrown, 'idle_timeout', true)
  if (thrown instanceof ClientCallError) return explanation(thrown, 'unsupported_call', false)
  if (thrown instanceof SyntaxError) return explanation(thrown, 'invalid_chunk', true)
  if (isTransportError(thrown)) return ofConnection(thrown)
  return explanation(thrown, 'unknown', false)
}

/** The clients' error classes, by their form: `instanceof` would ask for one copy of one version. */
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
  const { code, type, message } = bodyOf(thrown)
  const advice = thrown.headers?.get('x-should-retry')
  const retryable = advice === 'true' || (advice !== 'false' && isRetryable(status, code))
  return {
    ...explanation(thrown, code ?? type ?? String(status), retryable),
    ...defined({ message, retryAfter: retryAfter(thrown.headers) }),
    status,
    data: thrown.error ?? textOf(thrown, status),
  }
}

/** A body that is no JSON stands in the message of the clients, behind its status. */
function textOf({ message }: ApiError, status: number): string | undefined {
  const text = message.startsWith(`${status} `) ? message.slice(`${status} `.length) : ''
  return text === '' || text === 'status code (no body)' ? undefined : text
}

function ofStream(thrown: ApiError): Explanation {
  // A connection that failed has no body; one that timed out, or that the client gave up, neither.
  if (thrown.error === undefined) return ofConnection(thrown)
  const { code, type, message } = bodyOf(thrown)
  const status = statusOf(code) ?? statusOf(type)
  const retryable = status !== undefined && isRetryable(status, code)
  const told = explanation(thrown, code ?? type ?? 'unknown', retryable)
  return { ...told, ...defined({ message, status }), data: thrown.error }
}

/** The clients say `Connection error.` and `fetch` says `fetch failed`: what failed is in their causes. */
function ofConnection(thrown: unknown): Explanation {
  const told = explanation(thrown, 'connection', true)
  const root = rootOf(thrown)
  if (told.message.includes(root)) return told
  return { ...told, message: `${told.message.replace(/\.$/, '')}: ${root}` }
}

/** What the innermost cause says that says more than its name. */
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

interface ErrorBody {
  readonly code?: string
  readonly type?: string
  readonly message?: string
}

/** OpenAI's client has unwrapped the body's `error`, Anthropic's has not. */
function bodyOf({ error }: ApiError): ErrorBody {
  const body = isRecord(error) && isRecord(error.error) ? error.error : error
  // A sentence, and no more (qT11).
  if (!isRecord(body)) return defined({ message: wordOf(body) })
  return defined({
    code: codeOf(body.code),
    type: body.type === 'error' ? undefined : codeOf(body.type),
    message: wordOf(body.message),
  })
}

/** Cut, because no real code is longer; the data has all of it. */
function codeOf(value: unknown): string | undefined {
  return wordOf(value)?.slice(0, LONGEST_CODE)
}

const LONGEST_CODE = 100

function wordOf(value: unknown): string | undefined {
  return typeof value === 'number' || (typeof value === 'string' && value !== '') ? String(value) : undefined
}

/** Causes may go round in a circle. */
const MAX_CAUSES = 5

/** What the codes of errors inside a stream would have been as a status. */
const STATUS_OF_CODE: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  invalid_prompt: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  insufficient_quota: 429,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  api_error: 500,
  server_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
}

function statusOf(code: string | undefined): number | undefined {
  if (code === undefined) return undefined
  if (/^[1-5]\d\d$/.test(code)) return Number(code)
  return Object.hasOwn(STATUS_OF_CODE, code) ? STATUS_OF_CODE[code] : undefined
}

/** An account without credit answers 429 as well, but waiting does not fill it. */
function isRetryable(status: number, code: string | undefined): boolean {
  if (code === 'insufficient_quota') return false
  return status === 408 || status === 409 || status === 429 || status >= 500
}

/** In ms, from `retry-after-ms` or from `retry-after` in seconds or as a date. */
function retryAfter(headers: ApiError['headers']): number | undefined {
  const ms = Number.parseFloat(headers?.get('retry-after-ms') ?? '')
  if (!Number.isNaN(ms)) return Math.max(0, ms)
  const after = headers?.get('retry-after') ?? ''
  const wait = /^\s*[\d.]+\s*$/.test(after) ? Number.parseFloat(after) * 1000 : Date.parse(after) - Date.now()
  return Number.isNaN(wait) ? undefined : Math.max(0, Math.round(wait))
}

/** System and undici codes: `ECONNRESET`, `EPIPE`, `UND_ERR_SOCKET` … */
const TRANSPORT_CODE = /^(E[A-Z]+|UND_ERR_[A-Z_]+|HPE_[A-Z_]+)$/
/** What fetch throws where it gives no cause, in Node and in browsers. */
const TRANSPORT_MESSAGE = /^(fetch failed|terminated|failed to fetch|network error|load failed)$/i

/** A socket that broke while the body was read: undici puts its code on the cause, other runtimes on the error. */
function isTransportError(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false
  if (thrown instanceof TypeError && (thrown.cause instanceof Error || TRANSPORT_MESSAGE.test(thrown.message)))
    return true
  return hasTransportCode(thrown) || hasTransportCode(thrown.cause)
}

function hasTransportCode(thrown: unknown): boolean {
  return isRecord(thrown) && typeof thrown.code === 'string' && TRANSPORT_CODE.test(thrown.code)
}
