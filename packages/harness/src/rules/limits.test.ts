import { expect, test } from 'vitest'
import type { WireName } from '../wires/wire-name.ts'
import type { Host } from './hosts.ts'
import { refusals } from './refusals.ts'
import type { Change } from './rule.ts'
import { changedBody } from './sound.ts'

/** A rule with a number, and the requests on both sides of it. */
interface Limit {
  readonly rule: string
  readonly what: string
  readonly at: (value: number) => Change
  /** The last value that passes, then the next one. */
  readonly passes: number
  readonly breaks: number
  readonly host?: Host
}

const WIRES: Readonly<Record<string, WireName>> = {
  chat: 'openai-chat',
  responses: 'openai-responses',
  messages: 'anthropic',
}

const text = (length: number): string => 'x'.repeat(length)
const times = <Item>(count: number, item: (i: number) => Item): Item[] =>
  Array.from({ length: count }, (_, i) => item(i))
const members = (count: number, value: unknown): object => Object.fromEntries(times(count, (i) => [`m${i}`, value]))
const closed = (properties: object): object => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})
const nested = (levels: number): object =>
  times(levels, () => 0).reduce<object>((inner) => closed({ in: inner }), { type: 'string' })

/** A limit that is a length or a count: one more breaks it. */
function most(rule: string, what: string, passes: number, at: Limit['at'], host?: Host): Limit {
  return { rule, what, at, passes, breaks: passes + 1, ...(host && { host }) }
}

const STOPS = { openai: 4, azure: 4, groq: 4, cerebras: 4, moonshot: 5, xai: 8, deepseek: 16 } as const

const stops = Object.entries(STOPS).map(([host, count]) =>
  most(
    'chat/stop-many',
    `stop sequences of ${host}`,
    count,
    (n) => ({ model: 'gpt-4.1', stop: times(n, String) }),
    host as Host,
  ),
)

/** The limits that both wires of OpenAI have; `schema` is the path of the enforced schema. */
function ofOpenAI(wire: 'chat' | 'responses', schema: string): Limit[] {
  const title = `${schema}.properties.title`
  const enumOf = (count: number, length: number) => ({
    [title]: { enum: times(count, (i) => String(i).padEnd(length, 'x')) },
  })
  return [
    most(`${wire}/metadata`, 'keys', 16, (n) => ({ metadata: members(n, 'x') })),
    most(`${wire}/metadata`, 'length of a key', 64, (n) => ({ metadata: { [text(n)]: 'x' } })),
    most(`${wire}/metadata`, 'length of a value', 512, (n) => ({ metadata: { key: text(n) } })),
    most(`${wire}/format-name`, 'length', 64, (n) => ({ [schema.replace(/schema$/, 'name')]: text(n) })),
    most(`${wire}/strict-depth`, 'levels', 10, (n) => ({ [schema]: nested(n) })),
    most(`${wire}/strict-properties`, 'members', 5_000, (n) => ({ [schema]: closed(members(n, { type: 'string' })) })),
    most(`${wire}/strict-enum`, 'values', 1_000, (n) => enumOf(n, 4)),
    most(`${wire}/strict-enum`, 'values of a long enum', 250, (n) => enumOf(n, 61)),
    most(`${wire}/strict-enum`, 'characters of an enum of 300', 50, (n) => enumOf(300, n)),
    // The names of the other members count, too.
    most(`${wire}/strict-text`, 'characters', 120_000 - 'title'.length - 'root'.length - 'next'.length, (n) => ({
      [title]: { enum: [text(n)] },
    })),
  ]
}

const tools = (count: number, tool: object) => ({ tools: times(count, (i) => ({ ...tool, name: `t${i}` })) })
const functions = (count: number) => ({
  tools: times(count, (i) => ({ type: 'function', function: { name: `t${i}` } })),
})
const output = (schema: object) => ({ output_config: { format: { type: 'json_schema', schema } } })
const noTools = { tools: undefined, tool_choice: undefined }
const noThinking = { thinking: undefined }
const IMAGE = 'messages[2].content[0].content[0].source.data'
const USE = 'messages[1].content[1]'

const TEXT = 'messages[0].content[0].text'
const LARGEST = 32 * 1024 * 1024

/** How much text the sound body has besides the one at {@link TEXT}: the refusal says how much there is. */
function otherText(): number {
  const [refusal] = refusals('anthropic', changedBody('anthropic', { [TEXT]: text(LARGEST) }))
  return Number(/\((\d+) bytes\)/.exec(refusal?.message ?? '')?.[1]) - LARGEST
}

const LIMITS: readonly Limit[] = [
  ...stops,
  ...ofOpenAI('chat', 'response_format.json_schema.schema'),
  ...ofOpenAI('responses', 'text.format.schema'),
  most('chat/tools-many', 'tools', 128, functions),
  most('responses/tools-many', 'tools', 128, (n) => tools(n, { type: 'function', parameters: null })),
  most('chat/tool-description', 'length', 1_024, (n) => ({ 'tools[0].function.description': text(n) })),
  { rule: 'chat/temperature-range', what: 'highest', at: (temperature) => ({ temperature }), passes: 2, breaks: 2.001 },
  { rule: 'chat/temperature-range', what: 'lowest', at: (temperature) => ({ temperature }), passes: 0, breaks: -0.001 },
  most('chat/call-name', 'length', 64, (n) => ({ 'messages[2].tool_calls[0].function.name': text(n) })),
  most('chat/call-id-length', 'length', 64, (n) => ({
    'messages[2].tool_calls[0].id': text(n),
    'messages[4].tool_call_id': text(n),
  })),
  most('chat/mistral-call-id', 'longest', 9, (n) => ({ 'messages[2].tool_calls[0].id': text(n) }), 'mistral'),
  {
    rule: 'chat/mistral-call-id',
    what: 'shortest',
    at: (n) => ({ 'messages[2].tool_calls[0].id': text(n) }),
    passes: 9,
    breaks: 8,
    host: 'mistral',
  },
  most('chat/tool-name', 'length', 64, (n) => ({ 'tools[0].function.name': text(n) })),
  most('chat/text-long', 'length', 10_485_760, (n) => ({ 'messages[6].content': text(n) })),
  most('responses/call-name', 'length', 128, (n) => ({ 'input[2].name': text(n) })),
  most('responses/call-id-length', 'longest', 64, (n) => ({
    'input[2].call_id': text(n),
    'input[3].call_id': text(n),
  })),
  {
    rule: 'responses/call-id-length',
    what: 'shortest',
    at: (n) => ({ 'input[2].call_id': text(n), 'input[3].call_id': text(n) }),
    passes: 1,
    breaks: 0,
  },
  most('responses/tool-name', 'length', 128, (n) => ({ 'tools[0].name': text(n) })),
  most('responses/text-long', 'length', 10_485_760, (n) => ({ 'input[3].output': text(n) })),
  {
    rule: 'responses/max-output-tokens',
    what: 'tokens',
    at: (n) => ({ max_output_tokens: n }),
    passes: 16,
    breaks: 15,
  },
  most('messages/use-name', 'length', 128, (n) => ({ [`${USE}.name`]: text(n) })),
  most('messages/tool-name', 'length', 128, (n) => ({ 'tools[0].name': text(n) })),
  most('messages/schema-key', 'length', 64, (n) => ({ [`tools[0].input_schema.properties.${text(n)}`]: {} })),
  most('messages/cache-many', 'breakpoints', 3, (n) => ({
    // The sound body has one.
    system: times(n, (i) => ({ type: 'text', text: `Rule ${i}`, cache_control: { type: 'ephemeral' } })),
  })),
  most('messages/size', 'characters', LARGEST - otherText(), (n) => ({ [TEXT]: text(n) })),
  most('messages/image-size', 'characters', 5_242_880, (n) => ({ [IMAGE]: 'iVBOR'.padEnd(n, 'A') })),
  {
    rule: 'messages/max-tokens',
    what: 'tokens',
    at: (max_tokens) => ({ max_tokens, ...noThinking }),
    passes: 0,
    breaks: -1,
  },
  {
    rule: 'messages/thinking-budget',
    what: 'tokens of the answer',
    at: (max_tokens) => ({ max_tokens, ...noTools }),
    passes: 1_025,
    breaks: 1_024,
  },
  {
    rule: 'messages/thinking-budget-min',
    what: 'tokens',
    at: (n) => ({ 'thinking.budget_tokens': n }),
    passes: 1_024,
    breaks: 1_023,
  },
  { rule: 'messages/thinking-sampling', what: 'top_p', at: (top_p) => ({ top_p }), passes: 0.95, breaks: 0.949 },
  {
    rule: 'messages/thinking-sampling',
    what: 'temperature',
    at: (temperature) => ({ temperature }),
    passes: 1,
    breaks: 0.999,
  },
  {
    rule: 'messages/temperature',
    what: 'highest',
    at: (temperature) => ({ temperature, ...noThinking }),
    passes: 1,
    breaks: 1.001,
  },
  {
    rule: 'messages/temperature',
    what: 'lowest',
    at: (temperature) => ({ temperature, ...noThinking }),
    passes: 0,
    breaks: -0.001,
  },
  most('messages/format-optional', 'members', 24, (n) =>
    output({ ...closed(members(n, { type: 'string' })), required: [] }),
  ),
  most('messages/format-unions', 'members', 16, (n) => output(closed(members(n, { type: ['string', 'null'] })))),
  most('messages/format-bounds', 'minItems', 1, (minItems) => output(closed({ list: { type: 'array', minItems } }))),
  most('messages/strict-tools-many', 'tools', 20, (n) => tools(n, { strict: true, input_schema: closed({}) })),
]

test.for(LIMITS)('$rule: $what, $passes passes and $breaks does not (W23)', ({ rule, at, passes, breaks, host }) => {
  const wire = WIRES[rule.split('/', 1)[0] ?? ''] ?? 'openai-chat'
  const broken = (value: number): boolean =>
    refusals(wire, changedBody(wire, at(value)), { sure: ['certain', 'host', 'likely'], ...(host && { host }) }).some(
      (refusal) => refusal.rule === rule,
    )
  expect([broken(passes), broken(breaks)]).toEqual([false, true])
})
