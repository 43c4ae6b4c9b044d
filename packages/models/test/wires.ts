/** The three wires, each with a model and the events of a response "Hello", for tests that all wires must pass. */

import Anthropic from '@anthropic-ai/sdk'
import type { Model } from '@meanwhile/core'
import type { WireName } from '@meanwhile/harness'
import OpenAI from 'openai'
import { anthropic } from '../src/anthropic.ts'
import { openai } from '../src/openai.ts'

export interface TestWire {
  readonly name: WireName
  model(fetch: typeof globalThis.fetch, options?: { readonly idleTimeout?: number }): Model
  /** "Hel", "lo", and the end of the response. */
  readonly hello: readonly object[]
  /** How many events of `hello` come before the response is complete. */
  readonly cut: number
  /** A call `f` with this text as arguments, and the end of the response. */
  call(text: string): readonly object[]
  /** The event that the provider sends inside a stream when it is overloaded. */
  readonly overloaded: object
}

export const chat: TestWire = {
  name: 'openai-chat',
  model: (fetch, options) =>
    openai({ client: new OpenAI({ apiKey: 'none', fetch, maxRetries: 0 }), model: 'm', api: 'chat', ...options }),
  hello: [chatChunk({ content: 'Hel' }), chatChunk({ content: 'lo' }), chatChunk({}, 'stop')],
  cut: 2,
  call: (text) => [
    chatChunk({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'f', arguments: text } }] }),
    chatChunk({}, 'tool_calls'),
  ],
  overloaded: { error: { code: 503, type: 'server_error', message: 'try later' }, choices: [] },
}

export const responses: TestWire = {
  name: 'openai-responses',
  model: (fetch, options) =>
    openai({ client: new OpenAI({ apiKey: 'none', fetch, maxRetries: 0 }), model: 'm', ...options }),
  hello: [
    { type: 'response.created', response: { id: 'resp_1', model: 'm' } },
    { type: 'response.output_item.added', output_index: 0, item: { type: 'message', id: 'msg_1', content: [] } },
    { type: 'response.output_text.delta', output_index: 0, item_id: 'msg_1', content_index: 0, delta: 'Hel' },
    { type: 'response.output_text.delta', output_index: 0, item_id: 'msg_1', content_index: 0, delta: 'lo' },
    { type: 'response.completed', response: { id: 'resp_1', status: 'completed' } },
  ],
  cut: 4,
  call: (text) => [
    { type: 'response.created', response: { id: 'resp_1', model: 'm' } },
    responsesCall('response.output_item.added', { arguments: '', status: 'in_progress' }),
    { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: text },
    { type: 'response.function_call_arguments.done', output_index: 0, item_id: 'fc_1', arguments: text },
    responsesCall('response.output_item.done', { arguments: text, status: 'completed' }),
    { type: 'response.completed', response: { id: 'resp_1', status: 'completed' } },
  ],
  overloaded: {
    type: 'response.failed',
    response: { status: 'failed', error: { code: 'server_error', message: 'try later' } },
  },
}

export const claude: TestWire = {
  name: 'anthropic',
  model: (fetch, options) =>
    anthropic({ client: new Anthropic({ apiKey: 'none', fetch, maxRetries: 0 }), model: 'm', ...options }),
  hello: [
    { type: 'message_start', message: { id: 'msg_1', model: 'm', content: [] } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    { type: 'message_stop' },
  ],
  cut: 6,
  call: (text) => [
    { type: 'message_start', message: { id: 'msg_1', model: 'm', content: [] } },
    { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'call_1', name: 'f', input: {} } },
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: text } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
    { type: 'message_stop' },
  ],
  overloaded: { type: 'error', error: { type: 'overloaded_error', message: 'try later' } },
}

export const wires: readonly TestWire[] = [chat, responses, claude]

export function chatChunk(delta: object, reason: string | null = null): object {
  return { id: 'chatcmpl_1', model: 'm', choices: [{ index: 0, delta, finish_reason: reason }] }
}

function responsesCall(type: string, more: object): object {
  return { type, output_index: 0, item: { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', ...more } }
}
