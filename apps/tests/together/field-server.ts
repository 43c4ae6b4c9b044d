/** Serves model responses from a real HTTP server, cut into writes, to an agent with the tools of the field's streams. */

import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import { createAgent, type Message, type Model, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { anthropic } from '@meanwhile/models/anthropic'
import { openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'
import { z } from 'zod'

export type FieldWire = 'chat' | 'responses' | 'anthropic'
export type Body = string | { readonly headers: Readonly<Record<string, string>>; readonly body: string }
export type Cut = 'whole' | 'event' | 'byte' | { readonly seed: number }

/** A call of a tool, or an execution of it. */
export interface Called {
  readonly name: string
  readonly input: unknown
}

/** What happened in a run whose responses were these bodies. */
export interface Played {
  readonly messages: readonly Message[]
  readonly error?: unknown
  readonly executions: readonly Called[]
  /** The bodies of the requests. */
  readonly requests: readonly string[]
}

export interface FieldServer {
  /** Runs an agent against the bodies; after them the model says `done`. */
  play(wire: FieldWire, bodies: readonly Body[], cut: Cut, eager: boolean): Promise<Played>
  close(): void
}

/** One run's part of the server. */
interface Stage {
  readonly wire: FieldWire
  readonly bodies: readonly Body[]
  readonly cut: Cut
  readonly requests: string[]
}

export async function fieldServer(): Promise<FieldServer> {
  const stages = new Map<string, Stage>()
  const server = createServer(async (request, response) => {
    const stage = stages.get(/^\/(\d+)\//.exec(request.url ?? '')?.[1] ?? '')
    if (!stage) return response.writeHead(404).end()
    const body = stage.bodies[stage.requests.length] ?? DONE[stage.wire]
    stage.requests.push(await textOf(request))
    const { headers, body: text } = typeof body === 'string' ? { headers: STREAM, body } : body
    response.writeHead(200, headers)
    for (const piece of pieces(Buffer.from(text), stage.cut)) response.write(piece)
    return response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { play, close: () => void server.close() }

  async function play(wire: FieldWire, bodies: readonly Body[], cut: Cut, eager: boolean): Promise<Played> {
    const id = String(stages.size)
    const requests: string[] = []
    stages.set(id, { wire, bodies, cut, requests })
    const model = modelOf(wire, `http://127.0.0.1:${port}/${id}`)
    return { ...(await runOf(model, eager)), requests }
  }
}

async function runOf(model: Model, eager: boolean): Promise<Omit<Played, 'requests'>> {
  const executions: Called[] = []
  const tools = (['look', 'look_up', 'send', 'log'] as const).map((name) =>
    tool({
      name,
      description: name,
      input: z.looseObject({}),
      ...(name.startsWith('look') && { effect: 'read' as const }),
      execute: (input) => void executions.push({ name, input }),
    }),
  )
  const running = createAgent({ model, tools, middleware: eager ? [eagerTools()] : [] }).stream('Go.')
  const seen: Message[] = []
  try {
    for await (const event of running) if (event.type === 'step-end') seen.push(...event.messages)
    return { messages: (await running.result).messages, executions }
  } catch (error) {
    return { messages: seen, error, executions }
  }
}

function modelOf(wire: FieldWire, url: string): Model {
  const options = { apiKey: 'none', maxRetries: 0, logLevel: 'off' } as const
  if (wire === 'anthropic')
    return anthropic({ client: new Anthropic({ ...options, baseURL: url }), model: 'some-model' })
  const client = new OpenAI({ ...options, baseURL: `${url}/v1` })
  return openai({ client, model: 'some-model', api: wire })
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of request.setEncoding('utf8')) text += piece
  return text
}

const STREAM = { 'content-type': 'text/event-stream' }

function* pieces(bytes: Buffer, cut: Cut): Generator<Buffer> {
  if (cut === 'whole') yield bytes
  else if (cut === 'event') for (const event of bytes.toString().split(/(?<=\n\n)/)) yield Buffer.from(event)
  else {
    const next = cut === 'byte' ? () => 1 : randomSizes(cut.seed)
    for (let at = 0, size = next(); at < bytes.length; at += size, size = next()) yield bytes.subarray(at, at + size)
  }
}

/** Sizes from 1 to 64. */
function randomSizes(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return 1 + ((state >> 16) % 64)
  }
}

/** Each wire's way to say `done`. */
const DONE: Readonly<Record<FieldWire, string>> = {
  chat: events(
    { id: 'chatcmpl-2', choices: [{ index: 0, delta: { role: 'assistant', content: 'done' }, finish_reason: null }] },
    { id: 'chatcmpl-2', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  ),
  responses: events(
    { type: 'response.created', response: { id: 'resp_2', status: 'in_progress', output: [] } },
    { type: 'response.output_text.delta', item_id: 'msg_2', output_index: 0, content_index: 0, delta: 'done' },
    { type: 'response.completed', response: { id: 'resp_2', status: 'completed', output: [] } },
  ),
  anthropic: events(
    { type: 'message_start', message: { id: 'msg_2', role: 'assistant', content: [] } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'done' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    { type: 'message_stop' },
  ),
}

function events(...all: readonly object[]): string {
  return all.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
}
