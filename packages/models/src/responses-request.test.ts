import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { bodyOf } from '../test/ask.ts'
import { history, settings, tools } from '../test/history.ts'
import { responses } from '../test/wires.ts'
import { openai } from './openai.ts'

const reasoningItem = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAA' }

test('a complete request becomes a Responses body (A6, M13, M16, J16)', async () => {
  const request = {
    instructions: 'Be {brief}.',
    messages: history({ openai: reasoningItem }),
    tools,
    settings,
    toolChoice: { tool: 'weather' },
  }
  expect(await bodyOf(responses, request)).toEqual({
    model: 'm',
    instructions: 'Be {brief}.',
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Which city is this?' },
          { type: 'input_image', detail: 'auto', image_url: 'data:image/png;base64,iVBOR' },
          { type: 'input_image', detail: 'auto', image_url: 'https://example.com/city.jpg' },
          { type: 'input_file', filename: 'guide.pdf', file_data: 'data:application/pdf;base64,JVBER' },
        ],
      },
      reasoningItem,
      { role: 'assistant', content: 'Let me look.' },
      { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Paris"}' },
      { type: 'function_call', call_id: 'call_2', name: 'weather', arguments: '{"arguments":"{\\"city\\":"}' },
      { type: 'function_call', call_id: 'call_3', name: 'unknown', arguments: '{}' },
      {
        type: 'function_call_output',
        call_id: 'call_1',
        output: [
          { type: 'input_text', text: 'Sunny' },
          { type: 'input_image', detail: 'auto', image_url: 'data:image/png;base64,iVBOR' },
        ],
      },
      { type: 'function_call_output', call_id: 'call_2', output: 'not valid JSON' },
      { type: 'function_call_output', call_id: 'call_3', output: 'The call failed, without a message.' },
      { role: 'user', content: 'Go on.' },
    ],
    tools: [
      {
        type: 'function',
        name: 'weather',
        description: 'The weather in a city',
        parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        strict: false,
      },
    ],
    tool_choice: { type: 'function', name: 'weather' },
    parallel_tool_calls: false,
    max_output_tokens: 100,
    temperature: 0.5,
    top_p: 0.9,
    store: false,
    include: ['reasoning.encrypted_content'],
    service_tier: 'flex',
    stream: true,
  })
})

test('missing values are not sent: no instructions, no tools, no settings', async () => {
  expect(await bodyOf(responses, {})).toEqual({
    model: 'm',
    input: [{ role: 'user', content: 'Hello' }],
    store: false,
    include: ['reasoning.encrypted_content'],
    stream: true,
  })
})

test.each(['gpt-4o-mini', 'gpt-4.1', 'openai/gpt-4o', 'chatgpt-4o-latest', 'gpt-5-chat-latest', 'gpt-5.2-chat-latest'])(
  '%s does not reason, so no encrypted reasoning is requested',
  async (name) => {
    const model = (fetch: typeof globalThis.fetch) =>
      openai({ client: new OpenAI({ apiKey: 'none', fetch }), model: name })
    expect(await bodyOf(responses, {}, model)).not.toHaveProperty('include')
  },
)

test('the phase of a text is sent back with it, a document as a URL stays one, reasoning without content is not sent', async () => {
  const body = await bodyOf(responses, {
    messages: [
      {
        role: 'user',
        content: [{ type: 'file', mediaType: 'application/pdf', data: { url: 'https://example.com/guide.pdf' } }],
      },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: '', providerMetadata: { openai: { id: 'rs_1', type: 'reasoning', summary: [] } } },
          { type: 'text', text: 'On it.', providerMetadata: { openai: { phase: 'commentary' } } },
        ],
        finishReason: 'stop',
      },
    ],
  })
  expect(body).toHaveProperty('input', [
    {
      role: 'user',
      content: [{ type: 'input_file', filename: 'document.pdf', file_url: 'https://example.com/guide.pdf' }],
    },
    { role: 'assistant', content: 'On it.', phase: 'commentary' },
  ])
})
