import type { AssistantMessage, Message } from '@meanwhile/core'
import type { RulesChoice } from '@meanwhile/harness'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bodyOf, bodyThrough } from '../test/ask.ts'
import { chatHost, kimi, mistral } from '../test/hosts.ts'
import { realModels } from '../test/real-models.ts'
import { chat, claude, responses, type TestWire } from '../test/wires.ts'

const asked = (...ids: readonly string[]): AssistantMessage => ({
  role: 'assistant',
  content: ids.map((id) => ({ type: 'tool-call', id, name: 'f', input: {} })),
  finishReason: 'tool-calls',
})
const result = (callId: string): Message => ({
  role: 'tool',
  callId,
  name: 'f',
  content: [{ type: 'text', text: 'ok' }],
})
/** A turn for each list of ids. */
const turns = (...turns: readonly (readonly string[])[]): readonly Message[] =>
  turns.flatMap((ids) => [{ role: 'user', content: 'Go' }, asked(...ids), ...ids.map(result)])

/** The ids of the calls and of the results in a request, in the order of the body. */
async function idsOn(wire: TestWire, messages: readonly Message[], model?: TestWire['model'], rules?: RulesChoice) {
  return idsIn(wire, await bodyOf(wire, { messages }, model, rules))
}

function idsIn(wire: TestWire, sent: unknown) {
  const body = JSON.stringify(sent)
  const found = (pattern: RegExp) => [...body.matchAll(pattern)].map(([, id]) => id)
  if (wire.name === 'openai-chat')
    return { calls: found(/\{"id":"([^"]*)","type":"function"/g), results: found(/"tool_call_id":"([^"]*)"/g) }
  if (wire.name === 'openai-responses')
    return {
      calls: found(/"type":"function_call","call_id":"([^"]*)"/g),
      results: found(/"type":"function_call_output","call_id":"([^"]*)"/g),
    }
  return { calls: found(/"type":"tool_use","id":"([^"]*)"/g), results: found(/"tool_use_id":"([^"]*)"/g) }
}

const FOREIGN = ['toolu_01ABCdef', 'call_abc', 'functions.f:0', 'abcdefgh1', 'a b/c', 'x'.repeat(100), 'é', '']

const takes = [
  [chat, /^[\w-]{1,64}$/, undefined],
  [responses, /^[\w-]{1,64}$/, undefined],
  [claude, /^[\w-]{1,64}$/, undefined],
  [chat, /^[A-Za-z0-9]{9}$/, mistral],
] as const

test.each(takes)(
  'ids of other providers fit the provider, calls and results alike: %# (W14)',
  async (wire, fits, model) => {
    const { calls, results } = await idsOn(wire, turns(FOREIGN, ['later']), model)
    expect(calls).toHaveLength(FOREIGN.length + 1)
    for (const id of calls) expect(id).toMatch(fits)
    expect(new Set(calls).size).toBe(calls.length)
    expect(results).toEqual(calls)
  },
)

test('a host gets its own ids back unchanged, in every request the same (W14)', async () => {
  for (const [wire, ids, model] of [
    [chat, ['functions.f:0', 'functions.f:1'], kimi],
    [chat, ['abcdefgh1', 'Z23456789'], mistral],
    [chat, [`call_${'x'.repeat(200)}`], chatHost('litellm', 'm')],
    [claude, ['toolu_01A'], undefined],
    [responses, ['call_1'], undefined],
  ] as const) {
    expect((await idsOn(wire, turns(ids), model)).calls).toEqual(ids)
  }
  const first = await idsOn(claude, turns(['functions.f:0']))
  const longer = await idsOn(claude, turns(['functions.f:0'], ['other.id']))
  expect(longer.calls[0]).toBe(first.calls[0])
})

test.each(takes)('calls that share an id are told apart by their place: %# (W14)', async (wire, fits, model) => {
  const { calls, results } = await idsOn(wire, turns(['abcdefgh1'], ['abcdefgh1', 'f:0'], ['f:0', 'abcdefgh1']), model)
  expect(new Set(calls).size).toBe(5)
  for (const id of calls) expect(id).toMatch(fits)
  expect(results).toEqual(calls)
  expect(calls[0]).toBe('abcdefgh1')
})

test('results in another order than their calls keep the ids of these (W14)', async () => {
  const messages = [asked('a:1', 'b:2'), result('b:2'), result('a:1')]
  const { calls, results } = await idsOn(claude, [{ role: 'user', content: 'Go' }, ...messages])
  expect(results).toEqual(calls.toReversed())
})

test('all results of one call have its id, also if other calls share that (W14)', async () => {
  const messages = [...turns(['a'], ['a']), result('a')]
  const { calls, results } = await idsOn(claude, messages, undefined, { apply: false })
  expect(results).toEqual([calls[0], calls[1], calls[1]])
})

test.each(realModels)('$title: through the AI SDK, too (W14)', async (real) => {
  const messages = turns(['functions.f:0'], ['functions.f:0'])
  const { calls, results } = idsIn(real.own, await bodyThrough(real, { messages }))
  expect(calls).toHaveLength(2)
  for (const id of calls) expect(id).toMatch(/^[\w-]{1,64}$/)
  expect(new Set(calls).size).toBe(2)
  expect(results).toEqual(calls)
})

test('any history has ids that fit and are unique, and each result has the id of its call (W14)', async () => {
  const id = fc.oneof(fc.constantFrom(...FOREIGN), fc.string({ maxLength: 12 }))
  const given = fc.array(fc.uniqueArray(id, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(given, fc.constantFrom(...takes), async (lists, [wire, fits, model]) => {
      const { calls, results } = await idsOn(wire, turns(...lists), model)
      expect(new Set(calls).size).toBe(lists.flat().length)
      for (const id of calls) expect(id).toMatch(fits)
      expect(results).toEqual(calls)
    }),
    propertyRuns({ small: 30, middle: 48, whole: 5_000 }),
  )
})

test('a call that the provider ran keeps its id, and no other call gets it (W14)', async () => {
  const searched: AssistantMessage = {
    role: 'assistant',
    content: [
      {
        type: 'tool-call',
        id: 'toolu_1',
        name: 'web_search',
        input: { query: 'q' },
        providerResult: { type: 'web_search_tool_result', tool_use_id: 'toolu_1', content: [] },
        providerMetadata: { anthropic: { type: 'server_tool_use' } },
      },
      { type: 'text', text: 'Found.' },
    ],
    finishReason: 'stop',
  }
  for (const messages of [
    [...turns(['toolu_1']), searched, { role: 'user', content: 'And?' } as const],
    [{ role: 'user', content: 'Go' } as const, searched, ...turns(['toolu_1'])],
  ]) {
    const body = await bodyOf(claude, { messages })
    expect(body).toMatchObject({
      messages: expect.arrayContaining([
        {
          role: 'assistant',
          content: expect.arrayContaining([expect.objectContaining({ id: 'toolu_1', name: 'web_search' })]) as unknown,
        },
      ]) as unknown,
    })
    const { calls, results } = idsIn(claude, body)
    expect(calls).toHaveLength(1)
    expect(calls).not.toContain('toolu_1')
    expect(new Set(results)).toEqual(new Set([...calls, 'toolu_1']))
  }
})

test('a result of an earlier request has the id that its call had there (W14)', async () => {
  const { calls } = await idsOn(claude, turns(['functions.f:0']))
  const messages: Message[] = [{ role: 'user', content: 'Go' }, result('functions.f:0')]
  const alone = await idsOn(claude, messages, undefined, { except: ['messages/result-without-use'] })
  expect(alone.results).toEqual(calls)
})
