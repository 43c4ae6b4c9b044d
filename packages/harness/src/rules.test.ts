import { expectLinear } from '@meanwhile/tests/growth'
import { sized } from '@meanwhile/tests/size'
import { expect, test } from 'vitest'
import { officialRequests } from '../test/official-requests.ts'
import { random as seeded } from './random.ts'
import { changedBody, soundBody } from './rules/sound.ts'
import { HOSTS, type Host, type Rule, refusals, rules } from './rules.ts'
import type { WireName } from './wires/wire-name.ts'
import { WIRE_NAMES } from './wires/wire-name.ts'

const EVERY_SURE = ['certain', 'host', 'likely'] as const

/** The host for which a rule is tried. */
function hostOf({ wire, hosts }: Rule): Host {
  return hosts?.[0] ?? (wire === 'anthropic' ? 'anthropic' : 'openai')
}

const cases = rules.flatMap((rule) =>
  (rule.wire ? [rule.wire] : WIRE_NAMES).map((wire) => ({ id: rule.id, wire, rule })),
)

test('the ids of rules are unique, and begin with their wire (W23)', () => {
  expect(new Set(rules.map(({ id }) => id)).size).toBe(rules.length)
  for (const { id } of rules) expect(id).toMatch(/^(every|chat|responses|messages)\/[a-z0-9]+(-[a-z0-9]+)*$/)
})

test('each rule quotes a source with its month (W23)', () => {
  for (const { sources } of rules) {
    expect(sources).not.toHaveLength(0)
    for (const { where, seen } of sources) expect([where !== '', /^20\d\d-\d\d$/.test(seen)]).toEqual([true, true])
  }
})

test('the sound body of each wire breaks no rule of any host that has its wire (W23)', () => {
  const found = WIRE_NAMES.flatMap((wire) =>
    HOSTS.flatMap((host) => refusals(wire, soundBody(wire), { host }).map(({ rule }) => `${host} ${rule}`)),
  )
  expect(found).toEqual([])
})

test.for(cases)('the smallest change of a sound body breaks $id on $wire (W23)', ({ id, wire, rule }) => {
  const found = refusals(wire, changedBody(wire, rule.bad), { host: hostOf(rule), sure: EVERY_SURE })
  expect(found.map((refusal) => refusal.rule)).toContain(id)
  const own = found.find((refusal) => refusal.rule === id)
  expect(own?.message).not.toContain('undefined')
  expect(own?.status).toBe(rule.status ?? 400)
})

test.for(officialRequests)('an official example breaks no rule: $title (W23)', ({ wire, body }) => {
  expect(refusals(wire, body)).toEqual([])
})

test('lists count as levels of an enforced schema, and alternatives do not (W17, W23)', () => {
  const inside = (wrap: (schema: object) => object) => {
    const leaf: object = { type: 'string' }
    const nested = Array.from({ length: 11 }).reduce<object>(wrap, leaf)
    const schema = { type: 'object', properties: { a: nested }, required: ['a'], additionalProperties: false }
    const body = changedBody('openai-responses', { 'text.format.schema': schema })
    return refusals('openai-responses', body).map(({ rule }) => rule)
  }
  expect(inside((items) => ({ type: 'array', items }))).toEqual(['responses/strict-depth'])
  expect(inside((one) => ({ anyOf: [one] }))).toEqual([])
})

test('a strict tool on Messages has the limits of an enforced output, and they count together (W17, W23)', () => {
  const closed = { type: 'object', additionalProperties: false }
  const members = (count: number, schema: object) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`m${i}`, schema]))
  const broken = (input_schema: object, more: object = {}) =>
    refusals(
      'anthropic',
      changedBody('anthropic', { tools: [{ name: 'weather', strict: true, input_schema }], ...more }),
    ).map(({ rule, message }) => [rule, message])
  expect(broken({ ...closed, properties: {} })).toEqual([])
  expect(broken({ type: 'object', properties: {} })).toEqual([
    [
      'messages/format-object-open',
      "tools.0.custom: For 'object' type, 'additionalProperties' must be explicitly set to false",
    ],
  ])
  const bound = { ...closed, properties: { n: { type: 'number', minimum: 1 } }, required: ['n'] }
  expect(broken(bound)).toEqual([
    ['messages/format-bounds', "tools.0.custom: For 'number' type, properties minimum are not supported"],
  ])
  const optional = { ...closed, properties: members(12, { type: 'string' }) }
  const format = (count: number) => ({
    output_config: {
      format: { type: 'json_schema', schema: { ...closed, properties: members(count, { type: 'string' }) } },
    },
  })
  expect(broken(optional, format(12))).toEqual([])
  expect(broken(optional, format(13))).toEqual([['messages/format-optional', expect.stringContaining('(25)')]])
  const recursive = {
    ...closed,
    properties: { next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } },
    required: ['next'],
  }
  expect(broken(recursive)).toEqual([
    ['messages/format-recursive', 'tools.0.custom: recursive schemas are not supported'],
  ])
  // The same schema without strict is accepted.
  const loose = changedBody('anthropic', { tools: [{ name: 'weather', input_schema: recursive }] })
  expect(refusals('anthropic', loose)).toEqual([])
})

test('of an empty message on Messages, the message is refused, and of an empty block, the block (W15, W23)', () => {
  const found = (content: unknown) =>
    refusals('anthropic', changedBody('anthropic', { 'messages[0].content': content })).map(({ rule }) => rule)
  expect(found('')).toEqual(['messages/content-empty'])
  expect(found([])).toEqual(['messages/content-empty'])
  expect(found([{ type: 'text', text: '' }])).toEqual(['messages/text-empty'])
  expect(found(' ')).toEqual(['messages/text-blank'])
})

test('a body that is not an object breaks no rule (W23)', () => {
  for (const body of [undefined, null, 1, 'text', [], [{}]]) expect(refusals('openai-chat', body)).toEqual([])
})

test('the rules of a host come from the URL, and those of the provider hold for a URL that is not known (W23)', () => {
  const body = changedBody('openai-chat', { 'messages[5]': undefined })
  const of = (url: string) => refusals('openai-chat', body, { url }).map(({ rule }) => rule)
  expect(of('https://api.mistral.ai/v1/chat/completions')).toEqual(['chat/mistral-user-after-tool'])
  expect(of('https://api.mistral.ai.example.com/v1/chat/completions')).toEqual([])
  expect(of('no URL')).toEqual([])
  const members = { ...soundBody('anthropic'), seed: 1 }
  expect(refusals('anthropic', members, { url: 'http://127.0.0.1:1/v1/messages' })[0]).toMatchObject({
    rule: 'messages/unknown-member',
    path: 'seed',
    message: 'seed: Extra inputs are not permitted',
    status: 400,
  })
})

test('no body makes the rules throw, whatever is in it (W23)', () => {
  const random = seeded(48)
  const odd: unknown[] = []
  const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value
  const names = [...namesOf([WIRE_NAMES.map(soundBody), rules.map(({ bad }) => bad)])]
  const leaves: readonly unknown[] = [
    null,
    true,
    false,
    0,
    -1,
    1.5,
    '',
    ' ',
    'x',
    'assistant',
    'tool',
    'user',
    'function',
    'object',
    '#/$defs/a',
    '\ud800',
    'constructor',
    '__proto__',
    { toString: 1, valueOf: 1 },
    [],
    {},
  ]
  const value = (depth: number): unknown => {
    const kind = random()
    if (depth === 0 || kind < 0.3) return pick(leaves)
    const size = Math.floor(random() * 4)
    if (kind < 0.55) return Array.from({ length: size }, () => value(depth - 1))
    return Object.fromEntries(Array.from({ length: size }, () => [pick(names), value(depth - 1)]))
  }
  /** A sound body with random values at random places. */
  const mutated = (from: unknown): unknown => {
    if (random() < 0.04) return value(3)
    if (Array.isArray(from)) return from.map(mutated)
    if (typeof from !== 'object' || from === null) return from
    return Object.fromEntries(Object.entries(from).map(([name, child]) => [name, mutated(child)]))
  }
  for (let i = 0; i < sized({ small: 250, middle: 375, whole: 100_000 }); i++) {
    const wire = pick(WIRE_NAMES)
    const body = i % 2 === 0 ? mutated(soundBody(wire)) : value(6)
    const found = refusals(wire, body, { host: pick(HOSTS), sure: EVERY_SURE })
    odd.push(...found.filter(({ message, path }) => typeof message !== 'string' || typeof path !== 'string'))
  }
  expect(odd).toEqual([])
})

test('of a budget of thinking, the beta of interleaved thinking and tools may allow more than one answer has (W23)', () => {
  const broken = (change: object, headers?: Record<string, string>) =>
    refusals('anthropic', changedBody('anthropic', { max_tokens: 1024, ...change }), {
      ...(headers && { headers }),
    }).map(({ rule }) => rule)
  const TOO_SMALL = ['messages/thinking-budget']
  const noTools = { tools: undefined, tool_choice: undefined }
  const beta = { 'anthropic-beta': 'files-api-2025-04-14, interleaved-thinking-2025-05-14' }
  expect(broken({})).toEqual([])
  expect(broken({}, {})).toEqual(TOO_SMALL)
  expect(broken({}, beta)).toEqual([])
  expect(broken({ betas: ['interleaved-thinking-2025-05-14'] }, {})).toEqual([])
  expect(broken(noTools)).toEqual(TOO_SMALL)
  expect(broken(noTools, beta)).toEqual(TOO_SMALL)
})

test('Messages accepts 0 as max_tokens, which fills the prompt cache (W23)', () => {
  const broken = (max_tokens: unknown) =>
    refusals('anthropic', changedBody('anthropic', { max_tokens, thinking: undefined })).map(({ rule }) => rule)
  expect(broken(0)).toEqual([])
  expect(broken(-1)).toEqual(['messages/max-tokens'])
  expect(broken(null)).toEqual(['messages/max-tokens'])
  expect(broken('9')).toEqual(['messages/max-tokens'])
})

test('the limit of 128 tools holds for the hosts that have it, and that of 32 MB for Anthropic (W23)', () => {
  const many = (wire: WireName) =>
    HOSTS.filter((host) => refusals(wire, changedBody(wire, MANY), { host }).some(isOf('tools-many')))
  const MANY = { tools: Array.from({ length: 129 }, (_, i) => ({ type: 'function', function: { name: `t${i}` } })) }
  const isOf =
    (name: string) =>
    ({ rule }: { readonly rule: string }) =>
      rule.endsWith(`/${name}`)
  expect(many('openai-chat')).toEqual(['openai', 'azure', 'moonshot', 'deepseek', 'groq', 'gemini'])
  const large = { model: 'm'.repeat(33 * 1024 * 1024) }
  const sized = WIRE_NAMES.flatMap((wire) =>
    HOSTS.filter((host) => refusals(wire, changedBody(wire, large), { host }).some(isOf('size'))).map((host) => [
      wire,
      host,
    ]),
  )
  expect(sized).toEqual([['anthropic', 'anthropic']])
})

test('a body that is deeper than the stack is read (W23)', () => {
  const deep = (open: string, close: string, levels: number): unknown =>
    JSON.parse(`${open.repeat(levels)}1${close.repeat(levels)}`)
  const schema = deep('{"type":"object","properties":{"a":', '}}', 20_000)
  const strict = changedBody('openai-chat', { 'response_format.json_schema.schema': schema })
  expect(refusals('openai-chat', strict).map(({ rule }) => rule)).toContain('chat/strict-depth')
  const content = changedBody('anthropic', { 'messages[2].content[2]': deep('[', ']', 20_000) })
  expect(() => refusals('anthropic', content)).not.toThrow()
})

test.for(WIRE_NAMES)(
  'four times as many messages and tools take about four times as long on %s (W23)',
  async (wire) => {
    const body = soundBody(wire)
    const list = wire === 'openai-responses' ? 'input' : 'messages'
    await expectLinear(300, (count) =>
      refusals(wire, {
        ...body,
        [list]: Array.from({ length: count }, () => body[list]).flat(),
        tools: Array.from({ length: count }, () => body.tools).flat(),
      }),
    )
  },
)

function namesOf(value: unknown, into = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null) return into
  for (const [name, child] of Object.entries(value)) {
    if (!Array.isArray(value)) into.add(name)
    namesOf(child, into)
  }
  return into
}
