/** A page with the real client of the AI SDK, whose requests go straight to a handler. */

import { AbstractChat, type ChatInit, type ChatState, type ChatStatus, DefaultChatTransport, type UIMessage } from 'ai'
import { hasAllAnswers } from '../src/ai-sdk/index.ts'

class State implements ChatState<UIMessage> {
  status: ChatStatus = 'ready'
  error: Error | undefined
  messages: UIMessage[]
  constructor(messages: UIMessage[]) {
    this.messages = messages
  }
  pushMessage(message: UIMessage): void {
    this.messages = [...this.messages, message]
  }
  popMessage(): void {
    this.messages = this.messages.slice(0, -1)
  }
  replaceMessage(index: number, message: UIMessage): void {
    this.messages = this.messages.with(index, structuredClone(message))
  }
  snapshot<Value>(value: Value): Value {
    return structuredClone(value)
  }
}

export type Handler = (request: Request) => Promise<Response>

const URL = 'http://chat.test/api/chat'

export class Page extends AbstractChat<UIMessage> {
  /** All bytes that the page has received, as text. */
  readonly got: string[] = []

  constructor(handler: Handler, id: string, messages: UIMessage[] = [], init: Partial<ChatInit<UIMessage>> = {}) {
    const got: string[] = []
    const fetching = async (url: string | globalThis.URL | Request, options?: RequestInit) => {
      const response = await handler(new Request(url, options))
      return read(response, got)
    }
    super({
      id,
      state: new State(messages),
      transport: new DefaultChatTransport({ api: URL, fetch: fetching as typeof fetch }),
      sendAutomaticallyWhen: hasAllAnswers,
      ...init,
    })
    this.got = got
  }
}

function read(response: Response, got: string[]): Response {
  if (!response.body) return response
  const decoder = new TextDecoder()
  const noted = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      got.push(decoder.decode(bytes))
      controller.enqueue(bytes)
    },
  })
  return new Response(response.body.pipeThrough(noted), response)
}

export const get = (handler: Handler, path: string): Promise<Response> => handler(new Request(`${URL}${path}`))

export const post = (handler: Handler, path: string, body?: unknown, type = 'application/json'): Promise<Response> =>
  handler(
    new Request(`${URL}${path}`, {
      method: 'POST',
      headers: { 'content-type': type },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
  )

/** The messages that a page gets when it loads. */
export async function history(handler: Handler, id: string): Promise<UIMessage[]> {
  const response = await get(handler, `/${encodeURIComponent(id)}`)
  return ((await response.json()) as { messages: UIMessage[] }).messages
}

const COMPARED = [
  'type',
  'id',
  'text',
  'state',
  'toolName',
  'toolCallId',
  'input',
  'output',
  'errorText',
  'approval',
  'data',
  'parts',
  'preliminary',
]

/** The parts of messages that tests compare, and their metadata. A page of version 6 only knows the answers to approvals that it has given itself. */
export function compared(messages: readonly UIMessage[], version: 6 | 7 = 7): unknown {
  const plain = JSON.parse(JSON.stringify(messages)) as readonly UIMessage[]
  const isCompared = (name: string) => COMPARED.includes(name) && (version === 7 || name !== 'approval')
  return plain.map(({ id, role, metadata, parts }) => ({
    id,
    role,
    ...(role === 'assistant' && { metadata }),
    parts: parts.map((part) => Object.fromEntries(Object.entries(part).filter(([name]) => isCompared(name)))),
  }))
}

export async function settled(page: Page): Promise<void> {
  for (let calm = 0; calm < 5; ) {
    await new Promise((resolve) => setTimeout(resolve, 1))
    calm = page.status === 'ready' || page.status === 'error' ? calm + 1 : 0
  }
}
