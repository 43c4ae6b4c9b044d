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
  const body = firstOf(value)
  // Chunks and events rarely have one of these, and there are many of them.
  if (!isRecord(body) || !SAYING.some((name) => (body[name] ?? null) !== null)) return undefined
  const { error, ...rest } = body
  if (!error) return isBareError(body, isForeign) ? body : undefined
  // The status, the code or the sentence may be next to it (qT23).
  return (isRecord(error) || typeof error === 'string') && saysNothing(rest) ? error : body
}

/** Google sends a list of errors. */
function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value
}

/** Reads an error, or a body that contains one. OpenAI's client unwraps the body's `error`, Anthropic's does not. */
export function errorBody(error: unknown): ErrorBody {
  const layers = layersOf(error)
  return defined({
    code: codeOf(firstIn(layers, codeIn)),
    type: codeOf(firstIn(layers, typeIn)),
    // The error may be only a sentence (qT11).
    message: firstIn(layers, wordsIn) ?? wordIn(error),
    status: statusIn(layers),
  })
}

/** The error and what it is wrapped in, the innermost first: hosts wrap errors in members `error`, `detail` and `message`. */
function layersOf(error: unknown): readonly Members[] {
  const layers: Members[] = []
  for (let inner = firstOf(error); isRecord(inner) && layers.length < MAX_LAYERS; ) {
    layers.unshift(inner)
    inner = [inner.error, inner.detail, inner.message].find(isRecord)
  }
  return layers
}

/** More than any host sends. */
const MAX_LAYERS = 5

function firstIn<Found>(layers: readonly Members[], read: (layer: Members) => Found | undefined): Found | undefined {
  for (const layer of layers) {
    const found = read(layer)
    if (found !== undefined) return found
  }
  return undefined
}

function saysNothing(body: Members): boolean {
  const layers = layersOf(body)
  return firstIn(layers, wordsIn) === undefined && statusIn(layers) === undefined
}

/**
 * Whether it is an error without the member `error` (qT20): it has the words of an error, no member of a chunk or event,
 * and no sign of success. In a foreign event (qA1), words are not enough.
 */
function isBareError(body: Members, isForeign: boolean): boolean {
  const layers = layersOf(body)
  if (firstIn(layers, wordsIn) === undefined) return false
  if (statusIn(layers) !== undefined || body.object === 'error' || /error|exception/i.test(wordIn(body.type) ?? ''))
    return true
  // Chunks and events always have one of these.
  if (isForeign || body.choices || body.object || body.type || isSuccess(body)) return false
  // Other objects have a title or a reason, too.
  const { title: _, reason: __, ...rest } = body
  return firstIn(layersOf(rest), wordsIn) !== undefined
}

function isSuccess(body: Members): boolean {
  const state = wordIn(body.status)
  if (body.success === true || body.ok === true || (state !== undefined && !/error|fail/i.test(state))) return true
  const code = codeIn(body)
  return code === 0 || /^(0|ok|success|[1-3]\d\d)$/i.test(wordIn(code) ?? '')
}

/** The words of an error, in the members of OpenAI, FastAPI, MiniMax, Cloudflare, AWS and others. */
function wordsIn(layer: Members): string | undefined {
  for (const name of SAYING) {
    const words = name === 'base_resp' ? wordsOfMiniMax(layer[name]) : sentenceOf(layer[name])
    if (words !== undefined) return words
  }
  return undefined
}

function wordsOfMiniMax(base: unknown): string | undefined {
  return isRecord(base) ? sentenceOf(base.status_msg) : undefined
}

/** In the order in which they count. */
const SAYING = [
  'message',
  'Message',
  'detail',
  'error',
  'msg',
  'error_msg',
  'error_message',
  'base_resp',
  'errors',
  'reason',
  'title',
]

/** A sentence; or the first one in a list, in which FastAPI says what is wrong with a request. */
function sentenceOf(value: unknown): string | undefined {
  if (!Array.isArray(value)) return wordIn(value)
  const first: unknown = value[0]
  return isRecord(first) ? (wordIn(first.msg) ?? wordIn(first.message)) : wordIn(first)
}

function codeIn({ code, error_code, base_resp: base }: Members): unknown {
  return code ?? error_code ?? (isRecord(base) ? base.status_code : undefined)
}

/** The word for its kind. `error` says nothing: Anthropic's and OpenAI's events have this type. */
function typeIn({ type, __type, error_type }: Members): string | undefined {
  return [type, __type, error_type].map(wordIn).find((word) => word !== undefined && word !== 'error')
}

/** A number in any layer counts more than a word. */
function statusIn(layers: readonly Members[]): number | undefined {
  return firstIn(layers, statedIn) ?? firstIn(layers, impliedIn)
}

function statedIn(layer: Members): number | undefined {
  const { base_resp: base, status, status_code, statusCode, http_code, http_status_code, raw_status_code } = layer
  if (isRecord(base) && base.status_code) return MINIMAX.get(base.status_code) ?? 400
  return [codeIn(layer), status, status_code, statusCode, http_code, http_status_code, raw_status_code, layer.type]
    .map(wordIn)
    .filter((word) => word !== undefined && /^[45]\d\d$/.test(word))
    .map(Number)[0]
}

function impliedIn(layer: Members): number | undefined {
  const { status, status_code } = layer
  return [codeIn(layer), status, status_code, typeIn(layer)].map(statusOf).find((found) => found !== undefined)
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

/** The HTTP status that a code stands for: one that occurs inside a stream. */
function statusOf(value: unknown): number | undefined {
  const word = codeOf(value)
  if (word === undefined) return undefined
  // DashScope adds details to its codes: `Throttling.RateQuota`. AWS may put a namespace before them.
  const code = word.slice(word.lastIndexOf('#') + 1)
  const [general = ''] = code.split('.')
  return STATUS_OF_CODE.get(kindOf(code)) ?? STATUS_OF_CODE.get(kindOf(general))
}

function kindOf(code: string): string {
  return plainWord(code).replace(/(error|exception)$/, '')
}

const STATUS_OF_CODE: ReadonlyMap<string, number> = new Map(
  (
    [
      [400, 'invalid_request_error', 'invalid_prompt', 'bad_request', 'invalid_argument', 'invalid_parameter'],
      [400, 'validation_exception'],
      [401, 'authentication_error', 'unauthorized', 'unauthenticated', 'invalid_api_key'],
      [402, 'billing_error'],
      [403, 'permission_error', 'permission_denied', 'forbidden', 'access_denied'],
      [404, 'not_found_error', 'model_not_found', 'resource_not_found_exception'],
      [408, 'model_timeout_exception'],
      [413, 'request_too_large'],
      [422, 'unprocessable_entity'],
      [429, 'insufficient_quota', 'rate_limit_error', 'rate_limit_exceeded', 'resource_exhausted', 'throttling'],
      [429, 'too_many_requests', 'rate_limited', 'service_tier_capacity_exceeded', 'model_not_ready_exception'],
      [500, 'api_error', 'server_error', 'internal', 'internal_server_error', 'model_stream_error_exception'],
      [503, 'unavailable', 'service_unavailable', 'server_is_overloaded'],
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
