/** A chat for `useChat`, over threads: one function from requests to responses. */

import type { ThreadState, Threads, Turn } from '@meanwhile/threads'
import { answersTo, type ChatRequest, ChatRequestError, chatRequest } from './chat-request.ts'
import { type HistoryOptions, toUIMessages } from './history.ts'
import { type StreamOptions, streamResponse } from './stream.ts'

export interface ChatHandlerOptions extends HistoryOptions, Pick<StreamOptions, 'hold'> {
  readonly threads: Threads
  /** The path of the routes: what `useChat` has as `api`. Default `/api/chat`. */
  readonly base?: string
  /**
   * Decides who may, before anything else happens in a route: returns the context of the run, `undefined` for none, or a `Response` that
   * refuses. The id of the thread comes from the page.
   */
  readonly open: (request: Request, thread: string) => unknown
}

/** So long after its end a turn is still told to a page that comes back. */
const LATE = 30_000

/**
 * The routes of a chat:
 *
 * - `POST base`: a message, an edited one, another answer, or answers to questions. Of the messages in the body only the last counts.
 * - `GET base/:id`: `{ status, messages }`, the thread as UI messages.
 * - `GET base/:id/stream`: the turn at work from its beginning, also 30 s after its end or its question; else 204.
 * - `POST base/:id/stop`: stops the turn; 204.
 *
 * What cannot be done is a response with `{ error }`, the name of the error: 400 for a request that is none, 404, 409 if the thread is not in
 * the state for it, 410 for a deleted thread. All other errors are thrown.
 *
 * A page that leaves stops nothing.
 */
export function chatHandler({
  threads,
  base = '/api/chat',
  open,
  hold,
  ...options
}: ChatHandlerOptions): (request: Request) => Promise<Response> {
  const stream = (turn: Turn, after?: string): Response =>
    streamResponse((signal) => turn.events({ signal }), {
      ...options,
      messageId: turn.id,
      ...(hold !== undefined && { hold }),
      ...(after !== undefined && { after }),
    })

  async function post(request: Request): Promise<Response> {
    const asked = await chatRequest(request)
    const context = await open(request, asked.thread)
    if (context instanceof Response) return context
    const given = context === undefined ? {} : { context }
    if (asked.kind !== 'answer') return stream(await said(threads, asked, given))
    const { interrupts, cursor } = await threads.read(asked.thread)
    const answers = answersTo(interrupts, asked)
    if (Object.keys(answers).length === 0) throw new ChatRequestError('it answers nothing that is asked')
    return stream(await threads.answer(asked.thread, answers, given), cursor)
  }

  async function ofThread(request: Request, thread: string, action: string | undefined): Promise<Response> {
    const route = `${request.method} ${action ?? ''}`
    if (!['GET ', 'GET stream', 'POST stop'].includes(route)) return refusal('NotFound', 404)
    const context = await open(request, thread)
    if (context instanceof Response) return context
    if (route === 'POST stop') {
      await threads.stop(thread, { signal: request.signal })
      return new Response(null, { status: 204 })
    }
    const state = await threads.read(thread)
    if (route === 'GET ') return Response.json({ status: state.status, messages: toUIMessages(state, options) })
    const turn = lateTurn(state)
    const found = turn === undefined ? undefined : await threads.turn(thread, turn)
    return found ? stream(found) : new Response(null, { status: 204 })
  }

  return async (request) => {
    try {
      const path = pathIn(base, new URL(request.url).pathname)
      if (path?.length === 0 && request.method === 'POST') return await post(request)
      const [thread, action, ...more] = path ?? []
      if (thread === undefined || more.length > 0) return refusal('NotFound', 404)
      return await ofThread(request, thread, action)
    } catch (error) {
      const { name = '' } = error instanceof Error ? error : {}
      const status = STATUS.get(name)
      if (status === undefined) throw error
      return refusal(name, status)
    }
  }
}

/** By the names of errors, as the classes of threads are not needed otherwise. */
const STATUS: ReadonlyMap<string, number> = new Map([
  ['ChatRequestError', 400],
  ['ThreadIdError', 400],
  ['AnswerError', 400],
  ['InputError', 400],
  ['UnknownMessageError', 404],
  ['UnknownInterruptError', 409],
  ['ThreadBusyError', 409],
  ['NothingToRetryError', 409],
  ['ThreadDeletedError', 410],
])

function refusal(error: string, status: number): Response {
  return Response.json({ error }, { status })
}

/** What follows the base; undefined if the path is not below it. */
function pathIn(base: string, path: string): readonly string[] | undefined {
  if (path === base) return []
  if (!path.startsWith(`${base}/`)) return undefined
  try {
    return path
      .slice(base.length + 1)
      .split('/')
      .map(decodeURIComponent)
  } catch {
    return undefined
  }
}

interface Given {
  readonly context?: unknown
}

async function said(
  threads: Threads,
  asked: ChatRequest & { readonly kind: 'send' | 'regenerate' },
  given: Given,
): Promise<Turn> {
  const { thread, kind, messageId } = asked
  if (kind === 'send' && !asked.isEdit) return threads.send(thread, asked.message, { ...given, messageId })
  const state = await threads.read(thread)
  const newest = state.turns.at(-1)
  if (kind === 'regenerate' && newest?.messageId === messageId && newest.status === 'failed')
    return threads.retry(thread, given)
  const before = state.messages.find(({ id }) => id === messageId)?.message
  const message = kind === 'send' ? asked.message : before
  // An edit that comes again is known by its text.
  const isKnown = kind === 'send' && JSON.stringify(before) === JSON.stringify(message)
  if (!isKnown) await threads.rewind(thread, { before: messageId })
  if (message?.role !== 'user') throw new ChatRequestError('no turn begins with this message')
  return threads.send(thread, message, { ...given, messageId })
}

/** The turn that runs, or that has just come to its end or its question. */
function lateTurn({ turns }: ThreadState): string | undefined {
  const turn = turns.at(-1)
  const isLate = turn?.endedAt !== undefined && Date.now() - turn.endedAt.getTime() < LATE
  return turn?.status === 'running' || isLate ? turn?.id : undefined
}
