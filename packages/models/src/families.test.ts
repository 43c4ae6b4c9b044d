import type { Message, Model, ModelRequest } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { requestTo } from '../test/ask.ts'
import { chatHost, claudeModel, responsesHost } from '../test/hosts.ts'
import { requestOn } from './request.ts'
import type { WireName } from './wire-name.ts'

const tools = [{ name: 'f', description: 'd', inputSchema: { type: 'object', properties: {} } }]
const messages: readonly Message[] = [
  { role: 'user', content: 'Go' },
  {
    role: 'assistant',
    content: [{ type: 'tool-call', id: 'call_1', name: 'f', input: {} }],
    finishReason: 'tool-calls',
  },
  { role: 'tool', callId: 'call_1', name: 'f', content: [{ type: 'text', text: 'ok' }] },
]

const never = () => Promise.reject(new Error('no request is made'))

function written(wire: WireName, connect: (fetch: typeof globalThis.fetch) => Model, more: Partial<ModelRequest> = {}) {
  return JSON.stringify(requestOn(wire, requestTo(connect(never), { messages, tools, ...more })))
}

function hasFormat(connect: (fetch: typeof globalThis.fetch) => Model): boolean {
  const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
  return connect(never).structuredOutput?.({ name: 'out', schema }) ?? false
}

/** What requests to a model show of its family. */
function traitsOf(id: string): string[] {
  const onChat = written('openai-chat', chatHost('gateway', id))
  const traits = {
    'no format': !(hasFormat(responsesHost('openai', id)) && hasFormat(claudeModel(id))),
    'never reasons': !written('openai-responses', responsesHost('openai', id)).includes('encrypted_content'),
    'never forced': !written('anthropic', claudeModel(id), { toolChoice: 'required' }).includes('"any"'),
    'a space': onChat.includes('"reasoning_content":" "'),
    'an empty text': onChat.includes('"reasoning_content":""'),
    'short ids': !onChat.includes('call_1'),
    signatures: written('openai-chat', chatHost('gcp.gemini', id)).includes('thought_signature'),
  }
  return Object.entries(traits).flatMap(([name, has]) => (has ? [name] : []))
}

// Ids as the providers, Vertex AI, Bedrock, Azure and OpenRouter list them, and newer models in the same forms.
const ids: readonly (readonly [traits: readonly string[], ...ids: string[]])[] = [
  [
    ['no format'],
    'claude-3-7-sonnet-20250219',
    'claude-3-5-haiku@20241022',
    'anthropic/claude-3.7-sonnet:thinking',
    'us.anthropic.claude-3-5-sonnet-20241022-v2:0',
    'anthropic.claude-v2:1',
    'claude-sonnet-4-20250514',
    'claude-sonnet-4@20250514',
    'claude-opus-4-0',
    'claude-opus-4-1@20250805',
    'anthropic/claude-opus-4.1',
    'anthropic/claude-sonnet-4',
    'anthropic/claude-4-sonnet-20250522',
    'apac.anthropic.claude-sonnet-4-20250514-v1:0',
    'us.anthropic.claude-opus-4-1-20250805-v1:0',
    'o1-mini',
    'openai/o1-preview',
  ],
  [
    [],
    'claude-sonnet-4-5-20250929',
    'claude-sonnet-4-5@20250929',
    'anthropic/claude-sonnet-4.5',
    'global.anthropic.claude-opus-4-5-20251101-v1:0',
    'claude-haiku-4-5',
    'claude-opus-4-8',
    'claude-opus-5',
    'claude-fable-5',
    'claude-sonnet-5',
    'gpt-5.1',
    'openai/gpt-5-mini',
    'openai.gpt-oss-120b-1:0',
    'o3',
    'kimi-k2-0905-preview',
    'deepseek-chat',
    'us.deepseek.r1-v1:0',
  ],
  [
    ['never forced'],
    'claude-opus-5-5',
    'anthropic/claude-opus-5.5',
    'claude-sonnet-5-5',
    'claude-fable-5-1',
    'us.anthropic.claude-fable-5-1-v1:0',
  ],
  [
    ['no format', 'never reasons'],
    'gpt-4',
    'gpt-4-turbo',
    'gpt-4-0613',
    'gpt-35-turbo',
    'openai/gpt-3.5-turbo',
    'ft:gpt-3.5-turbo-0125:me::abc123',
    'ft:gpt-4-0613:me::abc123',
    'chatgpt-4o-latest',
  ],
  [
    ['never reasons'],
    'gpt-4o',
    'openai/gpt-4o-mini',
    'ft:gpt-4o-mini-2024-07-18:me::abc123',
    'ft:gpt-4.1-2025-04-14:mistral-fans::abc123',
    'gpt-4.1-nano',
    'gpt-5.1-chat-latest',
  ],
  [
    ['never forced', 'a space'],
    'kimi-k2.6',
    'kimi-k2-thinking-turbo',
    'moonshotai/Kimi-K2-Thinking',
    'moonshot.kimi-k2-thinking',
    'accounts/fireworks/models/kimi-k2p5',
    'kimi-thinking-preview',
  ],
  [
    ['never forced', 'an empty text'],
    'deepseek-v4-pro',
    'deepseek-ai/DeepSeek-V4',
    'deepseek/deepseek-v4',
    'deepseek-reasoner',
  ],
  [['signatures'], 'gemini-3-pro-preview', 'models/gemini-3.1-pro', 'google/gemini-3-flash', 'gemini-flash-latest'],
  [
    ['short ids'],
    'mistral-large-latest',
    'open-mixtral-8x22b',
    'mistral.mistral-large-2407-v1:0',
    'codestral-2508',
    'devstral-medium-latest',
    'magistral-small-2509',
    'mistralai/Ministral-8B-Instruct-2410',
    'pixtral-large-latest',
    'voxtral-small-latest',
  ],
]

test.each(ids.flatMap(([traits, ...of]) => of.map((id) => [id, traits] as const)))(
  'requests to %s are those of its family: %j (W14, W16, W20, M14)',
  (id, traits) => {
    expect(traitsOf(id)).toEqual(traits)
  },
)
