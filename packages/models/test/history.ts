/** A history with every kind of message, for the tests of the requests. */

import type { AssistantMessage, Message, ModelSettings, ToolDefinition } from '@meanwhile/core'
import { callsOf } from '@meanwhile/core'

export const tools: readonly ToolDefinition[] = [
  {
    name: 'weather',
    description: 'The weather in a city',
    inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    // For the assembler; it is not sent.
    needs: ['city'],
  },
]

export const settings: ModelSettings = {
  maxTokens: 100,
  temperature: 0.5,
  topP: 0.9,
  topK: 40,
  frequencyPenalty: 0.1,
  presencePenalty: 0.2,
  stopSequences: ['END'],
  seed: 7,
  parallelToolCalls: false,
  providerOptions: {
    openai: { service_tier: 'flex' },
    anthropic: { metadata: { user_id: 'u1' } },
  },
}

/** A result of each call of a message that no provider has run. */
export function resultsOf(message: AssistantMessage): readonly Message[] {
  const open = callsOf(message).filter(({ providerResult }) => providerResult === undefined)
  return open.map(({ id, name }) => ({ role: 'tool', callId: id, name, content: [{ type: 'text', text: 'done' }] }))
}

/** A step with text, reasoning and every kind of call, its results with files, and the user's next message. */
export function history(reasoning: Readonly<Record<string, object>>): readonly Message[] {
  return [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Which city is this?' },
        { type: 'file', mediaType: 'image/png', data: 'iVBOR', filename: 'city.png' },
        { type: 'file', mediaType: 'image/jpeg', data: { url: 'https://example.com/city.jpg' } },
        { type: 'file', mediaType: 'application/pdf', data: 'JVBER', filename: 'guide.pdf' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'A tower.', providerMetadata: reasoning },
        { type: 'reasoning', text: 'Of another provider.', providerMetadata: { other: { signature: 's' } } },
        { type: 'text', text: 'Let me look.' },
        { type: 'tool-call', id: 'call_1', name: 'weather', input: { city: 'Paris' } },
        { type: 'tool-call', id: 'call_2', name: 'weather', input: '{"city":', inputError: 'not valid JSON' },
        { type: 'tool-call', id: 'call_3', name: '', input: {} },
        { type: 'tool-call', id: 'call_4', name: 'search', input: {}, providerResult: { hits: 0 } },
      ],
      finishReason: 'tool-calls',
    },
    {
      role: 'tool',
      callId: 'call_1',
      name: 'weather',
      content: [
        { type: 'text', text: 'Sunny' },
        { type: 'file', mediaType: 'image/png', data: 'iVBOR', filename: 'map.png' },
      ],
    },
    {
      role: 'tool',
      callId: 'call_2',
      name: 'weather',
      content: [{ type: 'text', text: 'not valid JSON' }],
      isError: true,
    },
    { role: 'tool', callId: 'call_3', name: '', content: [], isError: true },
    { role: 'user', content: 'Go on.' },
  ]
}
