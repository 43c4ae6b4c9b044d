/** What an official client receives on each wire: read chunk by chunk, and through its own accumulating helper. */

import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { WireName } from '../src/wires/wire-name.ts'

export interface Heard {
  readonly text: string
  /** Absent if the client's helper does not accumulate it: OpenAI's does not support the field of the chat wire. */
  readonly reasoning?: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: unknown }[]
  readonly finish: string | null | undefined
  readonly usage: readonly [input: number | undefined, output: number | undefined]
}

/** How a client reaches the endpoints. */
export interface Reach {
  readonly fetch?: typeof fetch
  readonly url?: string
}

export interface Asking {
  readonly signal?: AbortSignal
  readonly maxRetries?: number
}

export interface TestClient {
  readonly wire: WireName
  /** This wire's finish reasons: for an answer, for a call, for truncation at the token limit. */
  readonly finish: { readonly stop: string; readonly calls: string; readonly length: string }
  chunks(reach: Reach, asking?: Asking): Promise<AsyncIterable<unknown>>
  /** Accumulates the chunks by hand. */
  read(reach: Reach, asking?: Asking): Promise<Heard>
  /** Lets the client accumulate them. */
  final(reach: Reach, asking?: Asking): Promise<Heard>
}

const openai = ({ fetch, url }: Reach) =>
  new OpenAI({ apiKey: 'sk-secret', maxRetries: 0, ...(fetch && { fetch }), ...(url && { baseURL: `${url}/v1` }) })

const claude = ({ fetch, url }: Reach) =>
  new Anthropic({ apiKey: 'sk-secret', maxRetries: 0, ...(fetch && { fetch }), ...(url && { baseURL: url }) })

const hi = [{ role: 'user' as const, content: 'Hi' }]

const chatRequest = { model: 'gpt', messages: hi, stream_options: { include_usage: true } }

const chatClient: TestClient = {
  wire: 'openai-chat',
  finish: { stop: 'stop', calls: 'tool_calls', length: 'length' },
  async chunks(reach, asking) {
    return openai(reach).chat.completions.create({ ...chatRequest, stream: true }, asking)
  },
  async read(reach, asking) {
    const heard = open()
    const stream = await openai(reach).chat.completions.create({ ...chatRequest, stream: true }, asking)
    for await (const { choices, usage } of stream) {
      if (usage) heard.usage = [usage.prompt_tokens, usage.completion_tokens]
      const [choice] = choices
      if (!choice) continue
      heard.text += choice.delta.content ?? ''
      heard.reasoning += (choice.delta as { reasoning_content?: string }).reasoning_content ?? ''
      heard.finish = choice.finish_reason ?? heard.finish
      for (const { index, id, function: called } of choice.delta.tool_calls ?? []) {
        const call = (heard.calls[index] ??= { id: id ?? '', name: called?.name ?? '', text: '' })
        call.text += called?.arguments ?? ''
      }
    }
    return closed(heard)
  },
  async final(reach, asking) {
    const completion = await openai(reach).chat.completions.stream(chatRequest, asking).finalChatCompletion()
    const [choice] = completion.choices
    const calls = (choice?.message.tool_calls ?? []).flatMap((call) =>
      call.type === 'function'
        ? [{ id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) }]
        : [],
    )
    return {
      text: choice?.message.content ?? '',
      calls,
      finish: choice?.finish_reason,
      usage: [completion.usage?.prompt_tokens, completion.usage?.completion_tokens],
    }
  },
}

const responsesRequest = { model: 'gpt', input: 'Hi' }

const responsesClient: TestClient = {
  wire: 'openai-responses',
  finish: { stop: 'completed', calls: 'completed', length: 'incomplete' },
  async chunks(reach, asking) {
    return openai(reach).responses.create({ ...responsesRequest, stream: true }, asking)
  },
  async read(reach, asking) {
    const heard = open()
    const stream = await openai(reach).responses.create({ ...responsesRequest, stream: true }, asking)
    for await (const event of stream) {
      if (event.type === 'response.output_text.delta') heard.text += event.delta
      if (event.type === 'response.reasoning_summary_text.delta') heard.reasoning += event.delta
      if (event.type === 'response.output_item.added' && event.item.type === 'function_call') {
        heard.calls[event.output_index] = { id: event.item.call_id, name: event.item.name, text: '' }
      }
      if (event.type === 'response.function_call_arguments.delta') {
        const call = heard.calls[event.output_index]
        if (call) call.text += event.delta
      }
      if (event.type === 'response.completed' || event.type === 'response.incomplete') {
        heard.finish = event.response.status
        heard.usage = [event.response.usage?.input_tokens, event.response.usage?.output_tokens]
      }
    }
    return closed(heard)
  },
  async final(reach, asking) {
    const response = await openai(reach).responses.stream(responsesRequest, asking).finalResponse()
    const calls = response.output.flatMap((item) =>
      item.type === 'function_call' ? [{ id: item.call_id, name: item.name, input: JSON.parse(item.arguments) }] : [],
    )
    const summaries = response.output.flatMap((item) => (item.type === 'reasoning' ? item.summary : []))
    return {
      text: response.output_text,
      reasoning: summaries.map((part) => part.text).join(''),
      calls,
      finish: response.status,
      usage: [response.usage?.input_tokens, response.usage?.output_tokens],
    }
  },
}

const claudeRequest = { model: 'claude', max_tokens: 100, messages: hi }

const claudeClient: TestClient = {
  wire: 'anthropic',
  finish: { stop: 'end_turn', calls: 'tool_use', length: 'max_tokens' },
  async chunks(reach, asking) {
    return claude(reach).messages.create({ ...claudeRequest, stream: true }, asking)
  },
  async read(reach, asking) {
    const heard = open()
    const stream = await claude(reach).messages.create({ ...claudeRequest, stream: true }, asking)
    for await (const event of stream) {
      if (event.type === 'message_start') heard.usage = [event.message.usage.input_tokens, undefined]
      if (event.type === 'content_block_start' && event.content_block.type === 'tool_use') {
        heard.calls[event.index] = { id: event.content_block.id, name: event.content_block.name, text: '' }
      }
      if (event.type === 'content_block_delta') {
        if (event.delta.type === 'text_delta') heard.text += event.delta.text
        if (event.delta.type === 'thinking_delta') heard.reasoning += event.delta.thinking
        const call = heard.calls[event.index]
        if (event.delta.type === 'input_json_delta' && call) call.text += event.delta.partial_json
      }
      if (event.type === 'message_delta') {
        heard.finish = event.delta.stop_reason
        heard.usage = [heard.usage[0], event.usage.output_tokens]
      }
    }
    return closed(heard)
  },
  async final(reach, asking) {
    const message = await claude(reach).messages.stream(claudeRequest, asking).finalMessage()
    return {
      text: message.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      reasoning: message.content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
      calls: message.content.flatMap((block) =>
        block.type === 'tool_use' ? [{ id: block.id, name: block.name, input: block.input }] : [],
      ),
      finish: message.stop_reason,
      usage: [message.usage.input_tokens, message.usage.output_tokens],
    }
  },
}

export const clients: readonly TestClient[] = [chatClient, responsesClient, claudeClient]

interface Hearing {
  text: string
  reasoning: string
  finish: string | null | undefined
  usage: [number | undefined, number | undefined]
  calls: { id: string; name: string; text: string }[]
}

function open(): Hearing {
  return { text: '', reasoning: '', calls: [], finish: null, usage: [undefined, undefined] }
}

function closed({ calls, ...heard }: Hearing): Heard {
  return { ...heard, calls: calls.filter(Boolean).map(({ id, name, text }) => ({ id, name, input: JSON.parse(text) })) }
}
