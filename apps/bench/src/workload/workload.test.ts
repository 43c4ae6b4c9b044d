import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { ourselves } from '../agents.ts'
import { expectedMs } from '../expected.ts'
import { measure } from '../measure.ts'
import { openTransport } from '../transport.ts'
import { parseWorkload } from './parse-workload.ts'
import { type Workload, workloadJsonSchema } from './schema.ts'
import { workloadScenario } from './workload-scenario.ts'

const EXAMPLE = fileURLToPath(new URL('../../examples/support.workload.json', import.meta.url))
const SCHEMA = fileURLToPath(new URL('../../workload.schema.json', import.meta.url))

test('the schema that files name in $schema is the parser’s (vitest -u writes it)', async () => {
  await expect(`${JSON.stringify(workloadJsonSchema(), null, 2)}\n`).toMatchFileSnapshot(SCHEMA)
})

test('the workload in the documentation is valid', async () => {
  const page = await readFile(fileURLToPath(new URL('../../../../docs/bench.md', import.meta.url)), 'utf8')
  const [, json = ''] = /```json\n([\s\S]*?)```/.exec(page) ?? []
  expect(parseWorkload(json, 'bench.md').turns).toHaveLength(3)
})

test('the example is a workload: its turns, tools and speeds become a scenario', async () => {
  const scenario = workloadScenario(parseWorkload(await readFile(EXAMPLE, 'utf8'), EXAMPLE), EXAMPLE)
  expect(scenario).toMatchObject({
    id: 'support',
    title: 'A support desk answers about an order',
    shape:
      '2 turns with calls: search_orders 700 ms (read), read_policy 150 to 200 ms (read) × 2, refund 500 ms (external); 400 ms to the first token, then 80 tokens a second',
    timing: 'paced',
    pace: { firstToken: 400, betweenTokens: 12.5 },
    answer: 'Your money is back in two to five days. I am sorry about the kettle.',
  })
  expect(scenario.turns.map((turn) => turn.map(({ tool, toolMs }) => `${tool} ${toolMs}`))).toEqual([
    ['search_orders 700', 'read_policy 150'],
    ['refund 500', 'read_policy 200'],
    [],
  ])
  expect(expectedMs({ scenario, mode: 'eager' })).toBeLessThan(expectedMs({ scenario, mode: 'parallel' }))
})

test.each(['openai-chat', 'openai-responses', 'anthropic'] as const)(
  'the example, made fast, is run and measured on %s in every mode',
  async (wire) => {
    const { signal } = new AbortController()
    const file = parseWorkload(await readFile(EXAMPLE, 'utf8'), EXAMPLE)
    const fast: Workload = {
      ...file,
      speed: { firstTokenMs: 1, tokensPerSecond: 5_000 },
      tools: Object.fromEntries(Object.entries(file.tools).map(([name, tool]) => [name, { ...tool, ms: 2 }])),
      turns: file.turns.map((turn) => turn.map((part) => ('ms' in part ? { ...part, ms: 1 } : part))),
    }
    const scenario = workloadScenario(fast, EXAMPLE)
    await using transport = await openTransport('msw', signal)
    for (const mode of ['sequential', 'parallel', 'eager', 'floor'] as const) {
      const { early, timeline } = await measure({ scenario, wire, mode }, ourselves, transport, signal)
      expect(timeline.streams).toHaveLength(3)
      expect(timeline.calls.map(({ id }) => id)).toEqual(['call_1_2', 'call_1_3', 'call_2_2', 'call_2_3'])
      if (mode === 'sequential' || mode === 'parallel') expect(early).toBe(0)
    }
  },
)

const ok = {
  speed: { firstTokenMs: 1, tokensPerSecond: 50 },
  tools: { look: { ms: 5 } },
  turns: [[{ call: 'look' }], [{ say: 'Done.' }]],
}

test('by default a tool is external, a call has no arguments, and the title is the name of the file', () => {
  const scenario = workloadScenario(parseWorkload(JSON.stringify(ok), 'a/mine.json'), 'a/mine.json')
  expect(scenario).toMatchObject({
    id: 'mine',
    title: 'mine',
    tools: [{ name: 'look', effect: 'external' }],
    turns: [[{ id: 'call_1_1', tool: 'look', input: {}, toolMs: 5 }], []],
  })
})

test.each([
  ['{', 'mine.json is not JSON: '],
  [{}, 'mine.json: speed: expected object, received undefined (and 2 more)'],
  [{ ...ok, sped: 1 }, 'mine.json: Unrecognized key: "sped"'],
  [{ ...ok, speed: { firstTokenMs: 'slow', tokensPerSecond: 1 } }, 'mine.json: speed.firstTokenMs: expected number'],
  [{ ...ok, tools: { look: { ms: -1 } } }, 'mine.json: tools.look.ms: Too small: expected number to be >=0'],
  [
    { ...ok, tools: { look: { ms: 1, effect: 'none' } } },
    'mine.json: tools.look.effect: Invalid option: expected one of',
  ],
  [{ ...ok, tools: { 'look up': { ms: 1 } } }, 'mine.json: tools.look up: no tool name: [A-Za-z0-9_-]{1,64}'],
  [
    { ...ok, turns: [[{ call: 'lok' }], [{ say: 'a' }]] },
    'mine.json: turns[0][0].call: there is no tool lok; there are look',
  ],
  [
    { ...ok, turns: [[{ call: 'look', inptu: {} }], [{ say: 'a' }]] },
    'mine.json: turns[0][0]: Unrecognized key: "inptu"',
  ],
  [{ ...ok, turns: [[{ call: 'look', ms: '5' }], [{ say: 'a' }]] }, 'mine.json: turns[0][0].ms: expected number'],
  [
    { ...ok, turns: [[{ call: 'look' }], [{ say: true }]] },
    'mine.json: turns[1][0].say: expected a text, or a number of tokens',
  ],
  [{ ...ok, turns: [[{ call: 'look' }]] }, 'mine.json: turns[0]: the last turn is the answer and calls nothing'],
  [{ ...ok, turns: [[{ say: 'a' }], [{ say: 'b' }]] }, 'mine.json: turns[0]: it calls nothing: only the last turn'],
  [
    { ...ok, turns: [[{ call: 'look' }], [{ wait: 5 }]] },
    'mine.json: turns[1]: the last turn is the answer and says something',
  ],
])('an invalid workload is refused with the place of the error: %j', (file, message) => {
  const text = typeof file === 'string' ? file : JSON.stringify(file)
  expect(() => parseWorkload(text, 'mine.json')).toThrow(expect.objectContaining({ name: 'UsageError' }))
  expect(() => parseWorkload(text, 'mine.json')).toThrow(message)
})
