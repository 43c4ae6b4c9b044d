/** Published AG-UI clients, against a server in this process. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type AgentSubscriber, HttpAgent, type Message, type RunAgentParameters } from '@ag-ui/client'
import { EventSchema } from '@ag-ui/core/schemas'

export interface Stage {
  readonly url: string
  /** Everything that was sent in bodies of responses. */
  sent(): string
  close(): Promise<void>
}

type Handler = (request: Request) => Promise<Response>

/** Serves on a free port of 127.0.0.1. */
export async function serve(handler: Handler): Promise<Stage> {
  const bodies: Uint8Array[] = []
  const server = createServer((incoming, outgoing) => {
    handle(handler, incoming, outgoing, bodies).catch((error: Error) => outgoing.destroy(error))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sent: () => Buffer.concat(bodies).toString(),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function handle(handler: Handler, incoming: IncomingMessage, outgoing: ServerResponse, bodies: Uint8Array[]) {
  const { method = '', url, headers } = incoming
  const body = method === 'POST' ? new Uint8Array(await buffer(incoming)) : undefined
  const type = { 'content-type': headers['content-type'] ?? '' }
  const response = await handler(
    new Request(`http://localhost${url}`, { method, headers: type, ...(body && { body }) }),
  )
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  const reader = response.body?.getReader()
  outgoing.once('close', () => void reader?.cancel())
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true }
    if (done || !value) break
    bodies.push(value)
    outgoing.write(value)
  }
  outgoing.end()
}

/** A client that keeps all received events, and refuses events that do not match the schema. */
export class Client {
  readonly agent: HttpAgent
  readonly events: { readonly type: string; readonly [member: string]: unknown }[] = []

  constructor(url: string, threadId: string, messages: readonly Message[] = []) {
    this.agent = new HttpAgent({ url, threadId, initialMessages: [...messages] })
    this.agent.subscribe({
      onEvent: ({ event }) => {
        EventSchema.parse(event)
        this.events.push(structuredClone(event))
      },
    })
  }

  /** Sends a message, and reads the run to its end. */
  async say(content: string, id: string = crypto.randomUUID()): Promise<readonly string[]> {
    this.agent.addMessage({ id, role: 'user', content })
    return await this.run()
  }

  /** Runs the agent to the end; returns the types of the events. */
  async run(parameters?: RunAgentParameters, subscriber?: AgentSubscriber): Promise<readonly string[]> {
    const from = this.events.length
    await this.agent.runAgent(parameters, subscriber)
    return this.events.slice(from).map(({ type }) => type)
  }

  /** Answers all open questions with the same answer. */
  async answer(payload: unknown): Promise<readonly string[]> {
    const { pendingInterrupts } = this.agent
    return await this.run({
      resume: pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'resolved', payload })),
    })
  }

  get messages(): readonly unknown[] {
    return comparable(this.agent.messages)
  }
}

/**
 * Normalizes messages where clients may differ: arguments are compared as JSON, results of one step in the order of their ids, and activities,
 * which are not part of a conversation, not at all.
 */
export function comparable(messages: readonly Message[]): readonly unknown[] {
  const list: Message[] = []
  for (const message of messages) {
    if (message.role === 'activity') continue
    let place = list.length
    const isBefore = (other: Message | undefined) =>
      message.role === 'tool' && other?.role === 'tool' && message.id < other.id
    while (isBefore(list[place - 1])) place--
    list.splice(place, 0, message)
  }
  return list.map(withInputs)
}

function withInputs(message: Message) {
  if (message.role !== 'assistant' || !message.toolCalls) return message
  const calls = message.toolCalls.map(({ id, function: { name, arguments: text } }) => ({
    id,
    name,
    input: inputOf(text),
  }))
  return { ...message, toolCalls: calls }
}

function inputOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
