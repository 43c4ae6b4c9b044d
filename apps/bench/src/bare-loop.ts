/**
 * The smallest possible loop: over the official client, it joins the pieces of the arguments, parses them once and then starts the
 * tool. No agent, no events, no checks, no spans: its time is the client's, and everything above that is our overhead.
 */

import Anthropic from '@anthropic-ai/sdk'
import type { WireName } from '@meanwhile/harness/server'
import OpenAI from 'openai'
import { z } from 'zod'
import type { Place } from './contestant.ts'
import type { Scenario } from './scenario.ts'
import type { Work } from './tools.ts'

export interface BareLoop {
  readonly wire: WireName
  readonly place: Place
  readonly prompt: string
  readonly scenario: Pick<Scenario, 'tools'>
  readonly work: Work
  readonly signal: AbortSignal
}

/** Calls the model, runs the tools, calls the model again with the results, and so on. Returns the text of the first answer without calls. */
export async function bareLoop(loop: BareLoop): Promise<string> {
  const { place, signal } = loop
  const options = { apiKey: 'none', maxRetries: 0, ...(place.fetch && { fetch: place.fetch }) }
  if (loop.wire === 'anthropic')
    return await messages(new Anthropic({ ...options, openTelemetry: false, baseURL: place.url }), loop)
  const client = new OpenAI({ ...options, baseURL: `${place.url}/v1` })
  signal.throwIfAborted()
  return await (loop.wire === 'openai-chat' ? chat(client, loop) : responses(client, loop))
}

const MODEL = 'scripted'

function toolsOf({ scenario }: BareLoop): readonly { readonly name: string; readonly schema: JsonSchema }[] {
  return scenario.tools.map(({ name, input }) => ({ name, schema: { ...z.toJSONSchema(input), type: 'object' } }))
}

interface JsonSchema {
  readonly [member: string]: unknown
  readonly type: 'object'
}

/** A call, from its first piece to its result. */
class BareCall {
  readonly id: string
  readonly name: string
  readonly pieces: string[] = []
  #result: Promise<string> | undefined

  constructor(id: string, name: string) {
    this.id = id
    this.name = name
  }

  get text(): string {
    return this.pieces.join('')
  }

  /** Starts it, at most once. */
  result({ work, signal }: BareLoop): Promise<string> {
    if (!this.#result) {
      this.#result = work({ callId: this.id, tool: this.name, input: JSON.parse(this.text) }, signal)
      // The code that awaits it handles the error.
      this.#result.catch(() => undefined)
    }
    return this.#result
  }
}

async function chat(client: OpenAI, loop: BareLoop): Promise<string> {
  const history: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: loop.prompt }]
  const tools = toolsOf(loop).map(({ name, schema: parameters }) => ({
    type: 'function' as const,
    function: { name, parameters },
  }))
  for (;;) {
    const text: string[] = []
    const calls: BareCall[] = []
    const request = { model: MODEL, messages: history, tools, stream: true } as const
    for await (const { choices } of await client.chat.completions.create(request, { signal: loop.signal })) {
      const [choice] = choices
      if (choice?.delta.content) text.push(choice.delta.content)
      for (const { index, id, function: piece } of choice?.delta.tool_calls ?? []) {
        // A new call means that the previous one is complete.
        if (!calls[index]) {
          void calls.at(-1)?.result(loop)
          calls[index] = new BareCall(id ?? '', piece?.name ?? '')
        }
        if (piece?.arguments) calls[index].pieces.push(piece.arguments)
      }
      if (choice?.finish_reason) void calls.at(-1)?.result(loop)
    }
    if (calls.length === 0) return text.join('')
    history.push({
      role: 'assistant',
      content: text.join(''),
      tool_calls: calls.map(({ id, name, text }) => ({ type: 'function', id, function: { name, arguments: text } })),
    })
    for (const call of calls) {
      history.push({ role: 'tool', tool_call_id: call.id, content: await call.result(loop) })
    }
  }
}

async function responses(client: OpenAI, loop: BareLoop): Promise<string> {
  const history: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: loop.prompt }]
  const tools = toolsOf(loop).map(({ name, schema: parameters }) => ({
    type: 'function' as const,
    name,
    parameters,
    strict: false,
  }))
  for (;;) {
    const text: string[] = []
    const calls = new Map<number, BareCall>()
    const request = { model: MODEL, input: history, tools, stream: true, store: false } as const
    for await (const event of await client.responses.create(request, { signal: loop.signal })) {
      if (event.type === 'response.output_text.delta') text.push(event.delta)
      else if (event.type === 'response.output_item.added' && event.item.type === 'function_call') {
        calls.set(event.output_index, new BareCall(event.item.call_id, event.item.name))
      } else if (event.type === 'response.function_call_arguments.delta') {
        calls.get(event.output_index)?.pieces.push(event.delta)
      } else if (event.type === 'response.function_call_arguments.done') {
        void calls.get(event.output_index)?.result(loop)
      }
    }
    if (calls.size === 0) return text.join('')
    history.push({ role: 'assistant', content: text.join('') })
    for (const { id, name, text } of calls.values()) {
      history.push({ type: 'function_call', call_id: id, name, arguments: text })
    }
    for (const call of calls.values()) {
      history.push({ type: 'function_call_output', call_id: call.id, output: await call.result(loop) })
    }
  }
}

async function messages(client: Anthropic, loop: BareLoop): Promise<string> {
  const history: Anthropic.MessageParam[] = [{ role: 'user', content: loop.prompt }]
  const tools = toolsOf(loop).map(({ name, schema }) => ({ name, input_schema: schema }))
  for (;;) {
    const text: string[] = []
    const calls = new Map<number, BareCall>()
    const request = { model: MODEL, max_tokens: 4_096, messages: history, tools, stream: true } as const
    for await (const event of await client.messages.create(request, { signal: loop.signal })) {
      if (event.type === 'content_block_start' && event.content_block.type === 'tool_use') {
        calls.set(event.index, new BareCall(event.content_block.id, event.content_block.name))
      } else if (event.type === 'content_block_delta') {
        if (event.delta.type === 'text_delta') text.push(event.delta.text)
        else if (event.delta.type === 'input_json_delta') calls.get(event.index)?.pieces.push(event.delta.partial_json)
      } else if (event.type === 'content_block_stop') {
        void calls.get(event.index)?.result(loop)
      }
    }
    if (calls.size === 0) return text.join('')
    const asked = [...calls.values()].map(({ id, name, text }) => ({
      type: 'tool_use' as const,
      id,
      name,
      input: JSON.parse(text) as unknown,
    }))
    history.push({ role: 'assistant', content: [{ type: 'text', text: text.join('') }, ...asked] })
    const results = [...calls.values()].map(async (call) => ({
      type: 'tool_result' as const,
      tool_use_id: call.id,
      content: await call.result(loop),
    }))
    history.push({ role: 'user', content: await Promise.all(results) })
  }
}
