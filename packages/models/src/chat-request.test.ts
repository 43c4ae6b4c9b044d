import type { Message, ModelRequest } from '@meanwhile/core'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { bodyOf } from '../test/ask.ts'
import { history, settings, tools } from '../test/history.ts'
import { chatHost, compatible, mistral } from '../test/hosts.ts'
import { chat } from '../test/wires.ts'
import { openai } from './openai.ts'

test('a complete request becomes a Chat Completions body (A6, M13, M16, J16)', async () => {
  const request = {
    instructions: 'Be {brief}.',
    messages: history({ openai: { field: 'reasoning_content' } }),
    tools,
    settings,
    toolChoice: { tool: 'weather' },
  }
  expect(await bodyOf(chat, request, compatible)).toEqual({
    model: 'm',
    messages: [
      { role: 'system', content: 'Be {brief}.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Which city is this?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBOR' } },
          { type: 'image_url', image_url: { url: 'https://example.com/city.jpg' } },
          { type: 'file', file: { filename: 'guide.pdf', file_data: 'data:application/pdf;base64,JVBER' } },
        ],
      },
      {
        role: 'assistant',
        reasoning_content: 'A tower.',
        content: 'Let me look.',
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Paris"}' } },
          { id: 'call_2', type: 'function', function: { name: 'weather', arguments: '{"arguments":"{\\"city\\":"}' } },
          { id: 'call_3', type: 'function', function: { name: 'unknown', arguments: '{}' } },
        ],
      },
      {
        role: 'tool',
        tool_call_id: 'call_1',
        content: 'Sunny\n(map.png is in the user message after these results)',
      },
      { role: 'tool', tool_call_id: 'call_2', content: 'not valid JSON' },
      { role: 'tool', tool_call_id: 'call_3', content: 'The call failed, without a message.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'map.png, from the result of call call_1:' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBOR' } },
        ],
      },
      { role: 'user', content: 'Go on.' },
    ],
    tools: [
      {
        type: 'function',
        function: {
          name: 'weather',
          description: 'The weather in a city',
          parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      },
    ],
    tool_choice: { type: 'function', function: { name: 'weather' } },
    parallel_tool_calls: false,
    max_completion_tokens: 100,
    temperature: 0.5,
    top_p: 0.9,
    frequency_penalty: 0.1,
    presence_penalty: 0.2,
    stop: ['END'],
    seed: 7,
    stream_options: { include_usage: true },
    service_tier: 'flex',
    stream: true,
  })
})

test('missing values are not sent: no system message, no tools, no settings', async () => {
  expect(await bodyOf(chat, {})).toEqual({
    model: 'm',
    messages: [{ role: 'user', content: 'Hello' }],
    stream_options: { include_usage: true },
    stream: true,
  })
})

test('tool choice is sent with tools only, and `auto` is not sent', async () => {
  expect(await bodyOf(chat, { toolChoice: 'required' })).not.toHaveProperty('tool_choice')
  expect(await bodyOf(chat, { tools })).not.toHaveProperty('tool_choice')
  expect(await bodyOf(chat, { tools, toolChoice: 'required' })).toHaveProperty('tool_choice', 'required')
  expect(await bodyOf(chat, { tools, toolChoice: 'none' })).toHaveProperty('tool_choice', 'none')
})

test('other providers than OpenAI get `max_tokens` and their own options', async () => {
  const mistral = (fetch: typeof globalThis.fetch) =>
    openai({ client: new OpenAI({ apiKey: 'none', fetch }), model: 'm', api: 'chat', provider: 'mistral_ai' })
  const given = { maxTokens: 100, providerOptions: { openai: { seed: 1 }, mistral_ai: { safe_prompt: true } } }
  expect(await bodyOf(chat, { settings: given }, mistral, { host: 'mistral' })).toEqual({
    model: 'm',
    messages: [{ role: 'user', content: 'Hello' }],
    max_tokens: 100,
    stream_options: { include_usage: true },
    safe_prompt: true,
    stream: true,
  })
})

test('metadata of a part is sent back in it, and a message with only calls has no text', async () => {
  const signature = { extra_content: { google: { thought_signature: 'abc' } } }
  const request: Partial<ModelRequest> = {
    messages: [
      {
        role: 'user',
        content: [
          {
            type: 'file',
            mediaType: 'image/png',
            data: 'iVBOR',
            providerMetadata: { openai: { detail: 'low' }, other: { detail: 'high' } },
          },
          { type: 'file', mediaType: 'audio/mpeg', data: 'SUQz' },
        ],
      },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', id: 'c', name: 'f', input: {}, providerMetadata: { openai: signature } }],
        finishReason: 'tool-calls',
      },
      { role: 'tool', callId: 'c', name: 'f', content: [{ type: 'text', text: 'ok' }] },
    ],
  }
  const body = await bodyOf(chat, request, compatible)
  expect(body).toHaveProperty('messages', [
    {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { detail: 'low', url: 'data:image/png;base64,iVBOR' } },
        { type: 'input_audio', input_audio: { data: 'SUQz', format: 'mp3' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' }, ...signature }],
    },
    { role: 'tool', tool_call_id: 'c', content: 'ok' },
  ])
})

test('the seed and the limit have the names of the host, which is known by its name or by its address (A6, W20)', async () => {
  const request = { settings: { seed: 7, maxTokens: 100 } }
  for (const model of [mistral, chatHost('openai', 'mistral-large-latest', 'https://api.mistral.ai/v1')]) {
    const body = await bodyOf(chat, request, model)
    expect(body).toMatchObject({ random_seed: 7, max_tokens: 100 })
    expect(body).not.toHaveProperty('seed')
    expect(body).not.toHaveProperty('max_completion_tokens')
  }
  expect(await bodyOf(chat, request, chatHost('deepseek', 'deepseek-chat'))).toMatchObject({ seed: 7, max_tokens: 100 })
  for (const model of [chatHost('azure.ai.openai', 'm'), chatHost('openai', 'm', 'http://localhost:8000/v1')])
    expect(await bodyOf(chat, request, model)).toMatchObject({ seed: 7, max_completion_tokens: 100 })
})

test('OpenAI’s own API gets no reasoning and no other members of a compatible host with the same name (W16)', async () => {
  const extra = { extra_content: { google: { thought_signature: 'abc' } } }
  const messages: readonly Message[] = [
    { role: 'user', content: 'Go' },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'Hm.', providerMetadata: { openai: { field: 'reasoning_content' } } },
        {
          type: 'reasoning',
          text: '',
          providerMetadata: { openai: { reasoning_details: [{ type: 'reasoning.text' }] } },
        },
        { type: 'text', text: 'Well.', providerMetadata: { openai: extra } },
        { type: 'tool-call', id: 'c', name: 'f', input: {}, providerMetadata: { openai: extra } },
      ],
      finishReason: 'tool-calls',
    },
    { role: 'tool', callId: 'c', name: 'f', content: [{ type: 'text', text: 'ok' }] },
  ]
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
  expect(await bodyOf(chat, { messages })).toHaveProperty('messages.1', {
    role: 'assistant',
    content: 'Well.',
    tool_calls: [call],
  })
  expect(await bodyOf(chat, { messages }, compatible)).toHaveProperty('messages.1', {
    role: 'assistant',
    content: 'Well.',
    reasoning_content: 'Hm.',
    reasoning_details: [{ type: 'reasoning.text' }],
    ...extra,
    tool_calls: [{ ...call, ...extra }],
  })
})
