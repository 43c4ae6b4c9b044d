import Anthropic from '@anthropic-ai/sdk'
import type { Message } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { bodyOf } from '../test/ask.ts'
import { history, settings, tools } from '../test/history.ts'
import { claude } from '../test/wires.ts'
import { anthropic } from './anthropic.ts'

test('a complete request becomes a Messages body (A6, M13, M16, J16)', async () => {
  const request = {
    instructions: 'Be {brief}.',
    messages: history({ anthropic: { signature: 'EqQB' } }),
    tools,
    settings,
    toolChoice: { tool: 'weather' },
  }
  const map = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBOR' } }
  expect(await bodyOf(claude, request)).toEqual({
    model: 'm',
    max_tokens: 100,
    system: 'Be {brief}.',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Which city is this?' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBOR' } },
          { type: 'image', source: { type: 'url', url: 'https://example.com/city.jpg' } },
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: 'JVBER' },
            title: 'guide.pdf',
          },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'A tower.', signature: 'EqQB' },
          { type: 'text', text: 'Let me look.' },
          { type: 'tool_use', id: 'call_1', name: 'weather', input: { city: 'Paris' } },
          { type: 'tool_use', id: 'call_2', name: 'weather', input: { arguments: '{"city":' } },
          { type: 'tool_use', id: 'call_3', name: 'unknown', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1', content: [{ type: 'text', text: 'Sunny' }, map] },
          {
            type: 'tool_result',
            tool_use_id: 'call_2',
            content: [{ type: 'text', text: 'not valid JSON' }],
            is_error: true,
          },
          {
            type: 'tool_result',
            tool_use_id: 'call_3',
            content: [{ type: 'text', text: 'The call failed, without a message.' }],
            is_error: true,
          },
          { type: 'text', text: 'Go on.' },
        ],
      },
    ],
    tools: [
      {
        name: 'weather',
        description: 'The weather in a city',
        input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      },
    ],
    tool_choice: { type: 'tool', name: 'weather', disable_parallel_tool_use: true },
    temperature: 0.5,
    top_p: 0.9,
    top_k: 40,
    stop_sequences: ['END'],
    metadata: { user_id: 'u1' },
    stream: true,
  })
})

test('missing values are not sent, except the token limit, which the wire requires', async () => {
  expect(await bodyOf(claude, {})).toEqual({
    model: 'm',
    max_tokens: 16_384,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
    stream: true,
  })
  const brief = (fetch: typeof globalThis.fetch) =>
    anthropic({ client: new Anthropic({ apiKey: 'none', fetch }), model: 'm', maxTokens: 10 })
  expect(await bodyOf(claude, {}, brief)).toHaveProperty('max_tokens', 10)
})

test('tool choice: the wire’s default is not sent', async () => {
  expect(await bodyOf(claude, { toolChoice: 'required' })).not.toHaveProperty('tool_choice')
  expect(await bodyOf(claude, { tools })).not.toHaveProperty('tool_choice')
  expect(await bodyOf(claude, { tools, toolChoice: 'none' })).toHaveProperty('tool_choice', { type: 'none' })
  expect(await bodyOf(claude, { tools, toolChoice: 'required' })).toHaveProperty('tool_choice', { type: 'any' })
  expect(await bodyOf(claude, { tools, settings: { parallelToolCalls: true } })).toHaveProperty('tool_choice', {
    type: 'auto',
    disable_parallel_tool_use: false,
  })
})

test('redacted thinking and cache hints are sent back unchanged, empty text and unsigned thinking are not sent', async () => {
  const ephemeral = { cache_control: { type: 'ephemeral' } }
  const messages: Message[] = [
    { role: 'user', content: [{ type: 'text', text: 'Long', providerMetadata: { anthropic: ephemeral } }] },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: '', providerMetadata: { anthropic: { data: 'EmwK' } } },
        { type: 'reasoning', text: 'cut off' },
        { type: 'text', text: '\n' },
        { type: 'text', text: 'Hi' },
      ],
      finishReason: 'stop',
    },
    { role: 'user', content: 'Go on.' },
  ]
  expect(await bodyOf(claude, { messages })).toHaveProperty('messages', [
    { role: 'user', content: [{ type: 'text', text: 'Long', ...ephemeral }] },
    {
      role: 'assistant',
      content: [
        { type: 'redacted_thinking', data: 'EmwK' },
        { type: 'text', text: 'Hi' },
      ],
    },
    { role: 'user', content: [{ type: 'text', text: 'Go on.' }] },
  ])
})
