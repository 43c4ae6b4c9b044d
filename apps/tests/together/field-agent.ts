/** An agent with the tools of the field's streams, on one of the three wires, and what happens in its run. */

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { createAgent, type Message, type Model, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { aiSdk } from '@meanwhile/models/ai-sdk'
import { anthropic } from '@meanwhile/models/anthropic'
import { openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'
import { z } from 'zod'

export type FieldWire = 'chat' | 'responses' | 'anthropic'

/** What makes the requests: the official clients, or the providers of the AI SDK. */
export type Door = 'client' | 'ai-sdk'

/** A call of a tool, or an execution of it. */
export interface Called {
  readonly name: string
  readonly input: unknown
}

/** What happened in a run. */
export interface Ran {
  readonly messages: readonly Message[]
  readonly error?: unknown
  readonly executions: readonly Called[]
}

/** Where the requests go. */
interface Target {
  readonly baseURL?: string
  readonly fetch?: typeof globalThis.fetch
}

export async function runOf(model: Model, eager: boolean): Promise<Ran> {
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

export function modelOf(wire: FieldWire, target: Target): Model {
  const options = { apiKey: 'none', maxRetries: 0, logLevel: 'off', ...target } as const
  if (wire === 'anthropic') return anthropic({ client: new Anthropic(options), model: 'some-model' })
  return openai({ client: new OpenAI(options), model: 'some-model', api: wire })
}

/** The same model through the AI SDK. */
export function sdkModelOf(wire: FieldWire, { baseURL, ...target }: Target): Model {
  const options = { apiKey: 'none', ...target }
  if (wire === 'anthropic') {
    return aiSdk(createAnthropic({ ...options, ...(baseURL && { baseURL: `${baseURL}/v1` }) })('some-model'))
  }
  return aiSdk(createOpenAI({ ...options, ...(baseURL && { baseURL }) })[wire]('some-model'))
}

/** Each wire's way to say `done`. */
export const DONE: Readonly<Record<FieldWire, string>> = {
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
    { type: 'message_start', message: { id: 'msg_2', role: 'assistant', content: [], usage: { input_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'done' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ),
}

/** The events in their frames. */
export function events(...all: readonly object[]): string {
  return all.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
}
