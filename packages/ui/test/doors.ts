/** The requests of every route of both handlers, over one thread that has a turn. The store notes each use of it. */

import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { createThreads, memoryThreads, type ThreadStore } from '@meanwhile/threads'
import { agUiHandler } from '../src/ag-ui/index.ts'
import { chatHandler } from '../src/ai-sdk/index.ts'
import type { HandlerOptions } from '../src/handler-options.ts'

const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }], content: 'Hi' }

const CHAT = '/api/chat'
const AG_UI = '/api/ag-ui'

/** Method, path and body. */
export const ROUTES: Readonly<Record<string, readonly [method: string, path: string, body?: object]>> = {
  'chat: send': ['POST', CHAT, { id: 't', messages: [{ ...message, id: 'm2' }] }],
  'chat: edit': ['POST', CHAT, { id: 't', messages: [message], messageId: 'm1' }],
  'chat: regenerate': ['POST', CHAT, { id: 't', messages: [message], trigger: 'regenerate-message' }],
  'chat: answer': ['POST', CHAT, { id: 't', messages: [{ id: 'a', role: 'assistant', parts: [] }], answers: { i: 1 } }],
  'chat: read': ['GET', `${CHAT}/t`],
  'chat: stream': ['GET', `${CHAT}/t/stream`],
  'chat: stop': ['POST', `${CHAT}/t/stop`],
  'chat: drop': ['POST', `${CHAT}/t/drop`, { messageId: 'm1' }],
  'ag-ui: run': ['POST', AG_UI, { threadId: 't', runId: 'r', messages: [{ ...message, id: 'm2' }] }],
  'ag-ui: retry': ['POST', AG_UI, { threadId: 't', runId: 'r', messages: [], forwardedProps: { retry: true } }],
  'ag-ui: answer': [
    'POST',
    AG_UI,
    { threadId: 't', runId: 'r', messages: [], resume: [{ interruptId: 'i', status: 'cancelled' }] },
  ],
  'ag-ui: stop': ['POST', `${AG_UI}/t/stop`],
}

/** Those whose body is read. */
export const WITH_BODY: readonly string[] = Object.keys(ROUTES).filter((route) => ROUTES[route]?.[2])

type Init = Omit<RequestInit, 'headers'> & { readonly headers?: Readonly<Record<string, string>> }

export interface Doors {
  /** The methods of the store that were called since the thread exists. */
  readonly used: string[]
  ask(route: string, init?: Init): Promise<Response>
}

/** The handlers with these options, over a thread `t` that has one message and one answer. */
export async function doors(options: Partial<HandlerOptions>): Promise<Doors> {
  const used: string[] = []
  const store = new Proxy(memoryThreads(), {
    get(target, name: keyof ThreadStore) {
      used.push(name)
      const value: unknown = target[name]
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const model = scriptedModel(Array.from({ length: 9 }, () => respond(say('Hello.'))))
  const threads = createThreads({ agent: createAgent({ model }), store })
  await (await threads.send('t', 'Hi', { messageId: 'm1' })).result
  const given = { threads, open: () => undefined, ...options }
  const chat = chatHandler(given)
  const agUi = agUiHandler(given)
  used.length = 0
  return {
    used,
    ask(route, init = {}) {
      const [method = '', path = '', body] = ROUTES[route] ?? []
      const headers = { ...(body && { 'content-type': 'application/json' }), ...init.headers }
      const sent = body && { body: JSON.stringify(body) }
      const request = new Request(`http://chat.test${path}`, { method, ...sent, ...init, headers })
      return route.startsWith('chat') ? chat(request) : agUi(request)
    },
  }
}
