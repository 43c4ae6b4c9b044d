/** The server side of `useChat`, over threads: one function from requests to responses. */

import { ConfigError, type Json, type OptionNames, type UserMessage } from '@meanwhile/core'
import { shownValue } from '@meanwhile/core/calls'
import type { ThreadState, Threads, Turn } from '@meanwhile/threads'
import { answersBy } from '../approvals.ts'
import { jsonBody } from '../body.ts'
import { guarded, type Report } from '../guarded.ts'
import { checkHandlerOptions, DEFAULT_MAX_BYTES, HANDLER_OPTIONS, type HandlerOptions } from '../handler-options.ts'
import { RUNNING, refusalOf } from '../refusals.ts'
import { CROSS_SITE, isJson, mayBeForged, pathBelow } from '../requests.ts'
import { jsonResponse, noContent, refusalResponse } from '../responses.ts'
import { cardIdOf } from '../turn/card.ts'
import { questionOf } from '../turn/question-of.ts'
import { Visit } from '../visit.ts'
import { answersTo, type ChatRequest, ChatRequestError, chatRequest, messageIdIn, queueIn } from './chat-request.ts'
import { type HistoryOptions, toUIMessages } from './history.ts'
import { type StreamOptions, streamResponse } from './stream.ts'

/** The options of `chatHandler`. */
export interface ChatHandlerOptions<Context = unknown>
  extends HandlerOptions<Context>,
    HistoryOptions,
    Pick<StreamOptions, 'hold'> {
  /** The path of the routes, which is the `api` of `useChat`. Default `/api/chat`. */
  readonly base?: string
}

const OPTIONS: OptionNames<ChatHandlerOptions> = { ...HANDLER_OPTIONS, hold: '', version: '' }

/** How long a page that returns still gets the stream of a turn that has ended, in milliseconds. */
const LATE = 30_000

/**
 * Creates the routes of a chat:
 *
 * - `POST base`: a message, an edited one, a request for another answer, or answers to questions. Only the last message in the body is used.
 * - `GET base/:id`: `{ status, messages }`, the thread as UI messages.
 * - `GET base/:id/stream`: the running turn from its beginning; for 30 s also a turn that has ended or asked a question; otherwise 204.
 * - `POST base/:id/stop`: stops the turn; 204. With the body `{ queue: 'drop' }` it also drops the queued messages.
 * - `POST base/:id/drop` with the body `{ messageId }`: takes this message out of the queue; 204.
 *
 * A request that fails has a sentence as its response, and the name of the error in the header `x-error`: 400 if it is malformed, 403 if `allow` or `open`
 * returned a value that does not admit it, 404 for an unknown path or message, 409 if the thread is in the wrong state for it, 410 for a deleted
 * thread, 413 for a body of more than `maxBytes`, 415 for one that is not `application/json`, 429 if too many messages wait in the thread, 503 with
 * `retry-after` if too many turns wait in the process. All other errors are thrown.
 *
 * If a page disconnects, the turn continues.
 *
 * @throws {ConfigError} An option is missing, unknown or not valid; the error names it.
 */
export function chatHandler<Context = unknown>(
  given: ChatHandlerOptions<Context>,
): (request: Request) => Promise<Response> {
  checkHandlerOptions('chatHandler', given, OPTIONS)
  const { threads, base = '/api/chat', hold, maxBytes = DEFAULT_MAX_BYTES, files = {}, ...options } = given
  const { version = 7 } = options
  if (version !== 6 && version !== 7) throw new ConfigError('version', `must be 6 or 7, not ${shownValue(version)}`)
  if (hold !== undefined && typeof hold !== 'boolean') throw new ConfigError('hold', 'must be true or false')

  const stream = (
    turn: Turn,
    report: Report,
    known: { readonly after?: string; readonly ended?: ReadonlySet<string> } = {},
  ): Response => {
    const given = { ...options, ...known, messageId: turn.id, ...(hold !== undefined && { hold }) }
    return streamResponse((signal) => turn.events({ signal }), given, report)
  }

  async function post(request: Request, report: Report): Promise<Response> {
    if (!isJson(request)) return refusalResponse('UnsupportedMediaType', NOT_JSON)
    const asked = chatRequest(await jsonBody(request, maxBytes), files)
    const { thread } = asked
    const visit = new Visit<Context>(given, request, thread)
    if (asked.kind !== 'answer') return stream(await said(threads, asked, visit), report)
    await visit.ask('answer', { type: 'answer' })
    const { status, interrupts, turns, cursor, decisions } = await threads.read(thread)
    const waiting = turns.find(({ status }) => status === 'waiting')
    visit.checkTurn(waiting?.id)
    // Which questions are open is known when the turn has stopped.
    if (status === 'running') return refusalResponse('ThreadBusyError', { status: 409, message: RUNNING })
    const unsigned = answersTo(interrupts, waiting?.id, asked, decisions)
    const by = await visit.signature()
    const answers = answersBy(by, unsigned, interrupts.map(questionOf), options.edits ?? false)
    return stream(
      await threads.answer(thread, answers, visit.continuing),
      report,
      cursor === undefined ? {} : { after: cursor },
    )
  }

  async function ofThread(request: Request, report: Report, thread: string, route: string): Promise<Response> {
    if (route === 'POST stop' && mayBeForged(request))
      return refusalResponse('CrossSiteRequest', { status: 403, message: CROSS_SITE })
    if (route === 'POST drop' && !isJson(request)) return refusalResponse('UnsupportedMediaType', NOT_JSON)
    const body = request.method === 'POST' && isJson(request) ? await jsonBody(request, maxBytes) : {}
    const visit = new Visit<Context>(given, request, thread)
    if (route === 'POST stop') {
      await visit.stop(request.signal, queueIn(body))
      return noContent()
    }
    if (route === 'POST drop') {
      await visit.drop(messageIdIn(body))
      return noContent()
    }
    await visit.ask('read', undefined)
    const state = await threads.read(thread)
    if (route === 'GET ') return jsonResponse({ status: state.status, messages: toUIMessages(state, options) })
    const newest = state.turns.at(-1)
    const turn = newest && (await threads.turn(thread, newest.id))
    return turn && (turn.endedFor ?? 0) < LATE
      ? stream(turn, report, { ended: endedCards(state, turn.id) })
      : noContent()
  }

  const guard = guarded('chatHandler', given, maxBytes, (error) => {
    const refused = error instanceof ChatRequestError ? error : refusalOf(error)
    return refused && refusalResponse(error.name, refused)
  })
  return async (request) => {
    const path = pathBelow(base, request)
    if (path?.length === 0 && request.method === 'POST') return guard(request, (report) => post(request, report))
    const [thread, action = '', ...more] = path ?? []
    const route = `${request.method} ${action}`
    if (thread === undefined || more.length > 0 || !ROUTES_OF_THREAD.includes(route)) return notFound()
    return guard(request, (report) => ofThread(request, report, thread, route))
  }
}

const NOT_JSON = { status: 415, message: 'The body must be application/json.' }

const ROUTES_OF_THREAD = ['GET ', 'GET stream', 'POST stop', 'POST drop']

function notFound(): Response {
  return refusalResponse('NotFound', { status: 404, message: 'Not found.' })
}

async function said<Context>(
  threads: Threads<Context>,
  asked: ChatRequest & { readonly kind: 'send' | 'regenerate' },
  visit: Visit<Context>,
): Promise<Turn> {
  const { thread, kind, messageId } = asked
  const replacing = kind === 'send' ? asked.replacing : messageId
  const action = kind === 'regenerate' ? kind : replacing === undefined ? 'send' : 'edit'
  const change = { type: 'send', messageId, ...(replacing !== undefined && { replacing }) } as const
  await visit.ask(action, change)
  const send = (message: UserMessage, display: Json | undefined) =>
    visit.make(action, change, async (expected) => {
      const { type: _, ...ids } = change
      const options = { ...ids, ...(display !== undefined && { display }), expected }
      return threads.send(thread, message, { ...(await visit.sending()), ...options })
    })
  if (kind === 'send' && replacing !== messageId) return send(asked.message, asked.display)
  const state = await threads.read(thread)
  const newest = state.turns.at(-1)
  const before = state.messages.find(({ id }) => id === messageId)
  const isSame = kind === 'regenerate' || JSON.stringify(before?.message) === JSON.stringify(asked.message)
  if (isSame && newest?.messageId === messageId) {
    if (newest.status === 'failed')
      return visit.make('retry', RETRY, (expected) => threads.retry(thread, { ...visit.continuing, expected }))
    const turn = newest.status === 'running' && kind === 'send' && (await threads.turn(thread, newest.id))
    // A turn exists for this message: the page has sent the request again.
    if (turn) return turn
  }
  const { message, display } = kind === 'send' ? asked : (before ?? {})
  if (message?.role !== 'user') throw new ChatRequestError('No turn begins with this message.', 404)
  return send(message, display)
}

/** The cards of a turn that have a result, or an output that a page has given. */
function endedCards({ messages, settled, inside = [] }: ThreadState, turn: string): ReadonlySet<string> {
  const results = [...messages.flatMap((one) => (one.turn === turn ? [one.message] : [])), ...settled]
  const cards = inside.flatMap((one) => (one.turn === turn ? one.cards : []))
  return new Set([
    ...results.flatMap((message) => (message.role === 'tool' ? [cardIdOf([message])] : [])),
    ...cards.filter(({ state }) => state !== 'asked').map(({ path }) => cardIdOf(path)),
  ])
}

const RETRY = { type: 'retry' } as const
