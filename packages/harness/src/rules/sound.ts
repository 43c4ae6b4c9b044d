/** One request of each wire that every host accepts. The change of each rule starts from it. */

import type { WireName } from '../wires/wire-name.ts'
import type { Change } from './rule.ts'
import { type Members, members } from './values.ts'

/** The beginning of a PNG file. */
export const PNG = 'iVBORw0KGgo='

export const WEATHER: Members = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}

/** A schema that every wire can enforce, with a recursion that only OpenAI can. */
const ANSWER = {
  type: 'object',
  properties: { title: { anyOf: [{ type: 'string' }, { type: 'null' }] }, root: { $ref: '#/$defs/node' } },
  required: ['title', 'root'],
  additionalProperties: false,
  $defs: {
    node: {
      type: 'object',
      properties: { next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } },
      required: ['next'],
      additionalProperties: false,
    },
  },
}

const chatCall = (id: string, city: string): Members => ({
  id,
  type: 'function',
  function: { name: 'weather', arguments: JSON.stringify({ city }) },
})

const SOUND: Readonly<Record<WireName, Members>> = {
  'openai-chat': {
    model: 'gpt-5.1',
    stream: true,
    messages: [
      { role: 'system', content: 'Answer in one sentence.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'How is the weather?' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
        ],
      },
      { role: 'assistant', content: null, tool_calls: [chatCall('callAAAA1', 'Bern'), chatCall('callAAAA2', 'Genf')] },
      { role: 'tool', tool_call_id: 'callAAAA2', content: '' },
      { role: 'tool', tool_call_id: 'callAAAA1', content: 'sun' },
      { role: 'assistant', content: 'Sunny.' },
      { role: 'user', content: 'Thanks.' },
    ],
    tools: [{ type: 'function', function: { name: 'weather', description: 'The weather', parameters: WEATHER } }],
    tool_choice: 'auto',
    parallel_tool_calls: false,
    response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema: ANSWER } },
  },
  'openai-responses': {
    model: 'gpt-5.1',
    stream: true,
    store: false,
    include: ['reasoning.encrypted_content'],
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'How is the weather?' },
          { type: 'input_image', detail: 'auto', image_url: 'https://example.com/a.png' },
        ],
      },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA1' },
      { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Bern"}' },
      { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_text', text: 'sun' }] },
      { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'gAAA2' },
      { role: 'assistant', content: 'Sunny.' },
      { role: 'user', content: 'Thanks.' },
    ],
    tools: [{ type: 'function', name: 'weather', description: 'The weather', parameters: WEATHER, strict: false }],
    text: { format: { type: 'json_schema', name: 'answer', strict: true, schema: ANSWER } },
  },
  anthropic: {
    model: 'claude-sonnet-4-5',
    max_tokens: 4096,
    stream: true,
    thinking: { type: 'enabled', budget_tokens: 1024 },
    system: [{ type: 'text', text: 'Answer in one sentence.' }],
    messages: [
      {
        role: 'user',
        content: [{ type: 'text', text: 'How is the weather?', cache_control: { type: 'ephemeral' } }],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Two cities.', signature: 'EqQB' },
          { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Bern' } },
          { type: 'tool_use', id: 'toolu_2', name: 'weather', input: { city: 'Genf' } },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_2',
            content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }],
          },
          { type: 'tool_result', tool_use_id: 'toolu_1' },
          { type: 'text', text: 'Go on.' },
        ],
      },
    ],
    tools: [{ name: 'weather', description: 'The weather', input_schema: WEATHER }],
    tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  },
}

/** A request that every host of this wire accepts. */
export function soundBody(wire: WireName): Members {
  return SOUND[wire]
}

/** The sound body with a change. */
export function changedBody(wire: WireName, change: Change): Members {
  return Object.entries(change).reduce<unknown>(
    (body, [path, value]) => changed(body, path.match(/[^.[\]]+/g) ?? [], value),
    SOUND[wire],
  ) as Members
}

function changed(target: unknown, [step = '', ...rest]: readonly string[], value: unknown): unknown {
  if (Array.isArray(target)) {
    const next = rest.length > 0 ? changed(target[Number(step)], rest, value) : value
    return target.toSpliced(Number(step), 1, ...(next === undefined ? [] : [next]))
  }
  const old = members(target)
  const next = rest.length > 0 ? changed(old[step], rest, value) : value
  const { [step]: _, ...others } = old
  return next === undefined ? others : { ...old, [step]: next }
}
