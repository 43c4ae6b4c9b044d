/** Reads the errors of providers, with the member `error` or, on some hosts, without it. */

import { defined } from './defined.ts'
import { plainWord } from './finish-reasons.ts'
import { isRecord } from './is-record.ts'
import { wordIn } from './wire-values.ts'

type Members = Readonly<Record<string, unknown>>

export interface ErrorBody {
  readonly code?: string
  readonly type?: string
  readonly message?: string
  /** The HTTP status that it stands for. */
  readonly status?: number
}

/**
 * The error in a body or in an event that is one; `undefined` for anything else. `isForeign`: no wire has events of this
 * name. Words are not enough to make them errors.
 */
export function errorIn(value: unknown, isForeign = false): unknown {
  // Google sends a list of errors.
  const body: unknown = Array.isArray(value) ? value[0] : value
  if (!isRecord(body)) return undefined
  if (isRecord(body.error)) return body.error
  // The code, or the sentence, may be next to it.
  if (body.error) return typeof body.error === 'string' && isAlone(body) ? body.error : body
  return isBareError(body, isForeign) ? body : undefined
}

/** Reads an error. OpenAI's client unwraps the body's `error`, Anthropic's does not. */
export function errorBody(error: unknown): ErrorBody {
  const said = isRecord(error) && isRecord(error.error) ? error.error : error
  // The error is only a sentence (qT11).
  if (!isRecord(said)) return defined({ message: wordIn(said) })
  const type = said.type === 'error' ? undefined : codeOf(said.type)
  return defined({ code: codeOf(codeIn(said)), type, message: wordsIn(said), status: statusIn(said) })
}

/** Whether nothing next to the member `error` says more. */
function isAlone({ error: _, ...rest }: Members): boolean {
  return wordsIn(rest) === undefined && statusIn(rest) === undefined
}

/**
 * Whether it is an error without the member `error` (qT20): it has the words of an error, no member of a chunk or event,
 * and no sign of success. In a foreign event (qA1), words are not enough.
 */
function isBareError(body: Members, isForeign: boolean): boolean {
  if (wordsIn(body) === undefined) return false
  const status = statusIn(body)
  if (status !== undefined) return status >= 400
  if (body.object === 'error' || /error|exception/i.test(wordIn(body.type) ?? '')) return true
  // Chunks and events always have one of these.
  if (isForeign || body.choices || body.object || body.type) return false
  const state = wordIn(body.status)
  return !isSuccess(codeIn(body)) && (state === undefined || /error|fail/i.test(state))
}

/** The words of an error, in the members of OpenAI, FastAPI, MiniMax, Cloudflare and others. */
function wordsIn(body: Members): string | undefined {
  const { message, detail, error, msg, error_msg, error_message, base_resp: base, errors } = body
  const words = [message, detail, error, msg, error_msg, error_message]
    .map(sentenceOf)
    .find((word) => word !== undefined)
  return words ?? (isRecord(base) ? sentenceOf(base.status_msg) : undefined) ?? sentenceOf(errors)
}

/** A sentence; or the first one in a list, in which FastAPI says what is wrong with a request. */
function sentenceOf(value: unknown): string | undefined {
  const first: unknown = Array.isArray(value) ? value[0] : value
  if (!isRecord(first)) return wordIn(first)
  return wordIn(first.msg) ?? wordIn(first.message)
}

function codeIn({ code, error_code, base_resp: base }: Members): unknown {
  return code ?? error_code ?? (isRecord(base) ? base.status_code : undefined)
}

function isSuccess(code: unknown): boolean {
  return code === 0 || /^(0|ok|success)$/i.test(wordIn(code) ?? '')
}

function statusIn(body: Members): number | undefined {
  const { base_resp: base, status, status_code, statusCode, type } = body
  if (isRecord(base) && base.status_code) return MINIMAX.get(base.status_code) ?? 400
  return [codeIn(body), status, status_code, statusCode, type].map(statusOf).find((found) => found !== undefined)
}

/** The HTTP status for each status code of MiniMax. */
const MINIMAX: ReadonlyMap<unknown, number> = new Map([
  [1000, 500],
  [1001, 504],
  [1002, 429],
  [1004, 401],
  [1008, 402],
  [1013, 500],
  [1024, 500],
  [1033, 500],
  [1039, 429],
  [2049, 401],
])

/** The HTTP status for a word or number: itself, or that of a code that occurs inside a stream. */
function statusOf(value: unknown): number | undefined {
  const word = wordIn(value)?.slice(0, LONGEST_CODE)
  if (word === undefined) return undefined
  if (/^[1-5]\d\d$/.test(word)) return Number(word)
  // DashScope adds details to its codes: `Throttling.RateQuota`.
  const [general = ''] = word.split('.')
  return STATUS_OF_CODE.get(kindOf(word)) ?? STATUS_OF_CODE.get(kindOf(general))
}

function kindOf(code: string): string {
  return plainWord(code).replace(/(error|exception)$/, '')
}

const STATUS_OF_CODE: ReadonlyMap<string, number> = new Map(
  (
    [
      [400, 'invalid_request_error', 'invalid_prompt', 'bad_request', 'invalid_argument', 'invalid_parameter'],
      [401, 'authentication_error', 'unauthorized', 'unauthenticated', 'invalid_api_key'],
      [402, 'billing_error'],
      [403, 'permission_error', 'permission_denied', 'forbidden', 'access_denied'],
      [404, 'not_found_error', 'model_not_found'],
      [413, 'request_too_large'],
      [422, 'unprocessable_entity'],
      [429, 'insufficient_quota', 'rate_limit_error', 'rate_limit_exceeded', 'resource_exhausted', 'throttling'],
      [429, 'too_many_requests'],
      [500, 'api_error', 'server_error', 'internal', 'internal_server_error'],
      [503, 'unavailable', 'service_unavailable'],
      [504, 'timeout_error', 'deadline_exceeded', 'gateway_timeout'],
      [529, 'overloaded_error'],
    ] as const
  ).flatMap(([status, ...codes]) => codes.map((code) => [kindOf(code), status] as const)),
)

/** Cut, because real codes are shorter. `data` contains everything. */
function codeOf(value: unknown): string | undefined {
  return wordIn(value)?.slice(0, LONGEST_CODE)
}

const LONGEST_CODE = 100
