import { call, collect, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { type AgentOptions, createAgent, type Effect, type Middleware, type Tool } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { propertyRuns } from '@meanwhile/tests/size'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { createToolExecutor, type EagerToolsOptions, eagerTools } from './index.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

interface Asked {
  readonly input: Tool['input']
  readonly effect?: Effect
  /** As the model writes them. */
  readonly calls?: readonly object[]
  readonly eager?: EagerToolsOptions | false
  readonly options?: Pick<AgentOptions, 'prepareInput' | 'telemetry'>
  readonly middleware?: readonly Middleware[]
}

/** The times and inputs of the executions. The calls are sealed at once, and the response ends after 100 ms. */
async function made({ input, effect = 'idempotent', calls = [{ n: 1 }], eager = {}, ...more }: Asked) {
  const begin = performance.now()
  const log: (readonly [at: number, input: unknown])[] = []
  const book: Tool = {
    name: 'book',
    description: 'Books.',
    input,
    effect,
    ...(effect === 'reversible' && { compensate: () => undefined }),
    execute: (input) => void log.push([performance.now() - begin, input]),
  }
  const said = calls.map((input, n) => call('book', input, { id: `c${n}`, deltas: 1 }))
  const agent = createAgent({
    ...more.options,
    model: scriptedModel([respond(...said, wait(100), say('So.')), respond(say('Done.'))]),
    tools: [book],
    middleware: [...(more.middleware ?? []), ...(eager ? [eagerTools({ independent: ['book'], ...eager })] : [])],
  })
  await played(collect(agent.stream('Go')))
  return log
}

/** A schema that changes `{ n: 1 }`. */
const changing: Readonly<Record<string, Tool['input']>> = {
  'fills in a member': z.object({ n: z.number(), day: z.string().default('today') }),
  'converts a member': z.object({ n: z.coerce.string() }),
  'transforms a member': z.object({ n: z.number().transform((n) => n + 1) }),
  'makes a date': z.object({ n: z.number().transform((n) => new Date(n)) }),
  'makes a bigint': z.object({ n: z.number().transform((n) => BigInt(n)) }),
  'removes a member': z.object({}),
  'adds an undefined member': z.object({ n: z.number() }).transform((input) => ({ ...input, day: undefined })),
}

for (const [what, input] of Object.entries(changing)) {
  test(`a reversible call whose schema ${what} waits for the commit (W4)`, async () => {
    const [[at] = []] = await made({ input, effect: 'reversible' })
    expect(at).toBe(100)
  })
}

test('every effect above read waits for the commit if the schema changes the input, and a read does not (W4)', async () => {
  const input = z.object({ n: z.number(), id: z.string().default(() => crypto.randomUUID()) })
  const effects: readonly Effect[] = ['read', 'calls', 'idempotent', 'reversible', 'external']
  const times: unknown[] = []
  for (const effect of effects) {
    const log = await made({ input, effect, eager: { policy: () => 'start' } })
    times.push([effect, ...log.map(([at]) => at)])
  }
  expect(times).toEqual([
    ['read', 0],
    ['calls', 100],
    ['idempotent', 100],
    ['reversible', 100],
    ['external', 100],
  ])
})

test('each call is compared: those whose arguments are complete start when sealed (W4)', async () => {
  const input = z.object({ n: z.number(), day: z.string().default('today') })
  const calls = [{ day: 'Monday', n: 1 }, { n: 2 }, { n: 3, day: 'today' }]
  expect(await made({ input, calls })).toEqual([
    [0, { n: 1, day: 'Monday' }],
    [0, { n: 3, day: 'today' }],
    [100, { n: 2, day: 'today' }],
  ])
})

test('a call of a tool whose schema is fixed starts when sealed, whatever the schema changes (W4)', async () => {
  const input = z.object({ n: z.number().transform((n) => new Date(n)) })
  expect(await made({ input, eager: { schemas: { book: 'fixed' } } })).toEqual([[0, { n: new Date(1) }]])
  expect(await made({ input, eager: { schemas: { other: 'fixed' }, mayBeMissing: true } })).toEqual([
    [100, { n: new Date(1) }],
  ])
})

test('a call waits for the commit if prepareInput or a wrap changes its input (W4)', async () => {
  const input = z.record(z.string(), z.unknown())
  const dated = { n: 1, day: 'today' }
  const wrap: Middleware = { name: 'dating', wrapToolCall: (call, next) => next({ ...call, input: dated }) }
  for (const asked of [{ options: { prepareInput: () => dated } }, { middleware: [wrap] }]) {
    expect(await made({ input, ...asked })).toEqual([[100, dated]])
    expect(await made({ input, ...asked, eager: { schemas: { book: 'fixed' } } })).toEqual([[0, dated]])
    expect(await made({ input, ...asked, effect: 'read' })).toEqual([[0, dated]])
  }
  const repeated = { options: { prepareInput: (input: unknown) => ({ ...Object(input) }) } }
  expect(await made({ input, ...repeated })).toEqual([[0, { n: 1 }]])
})

test('a schema that counts: if the tool would get another input than the one that was compared, the call waits (W4)', async () => {
  let checks = 0
  const input = z.object({ n: z.number().transform((n) => n + checks++) })
  expect(await made({ input })).toEqual([[100, { n: 2 }]])
})

test('the span of a call that waits because of its schema states that (W4)', async () => {
  const exporter = new InMemorySpanExporter()
  const processor = new SimpleSpanProcessor({ exporter })
  const telemetry = { tracerProvider: new TracerProvider({ spanProcessors: [processor] }) }
  const input = z.object({ n: z.number(), day: z.string().default('today') })
  await made({ input, options: { telemetry } })
  const [span] = exporter.getFinishedSpans().filter(({ name }) => name === 'execute_tool book')
  expect(span?.attributes).toMatchObject({
    'meanwhile.dispatch.mode': 'after_model',
    'meanwhile.dispatch.deferral_reason': 'schema',
  })
})

test('the option schemas is checked, and a tool executor has it, too (W4)', () => {
  const wrong = (schemas: unknown) => ({ schemas }) as EagerToolsOptions
  for (const make of [eagerTools, createToolExecutor]) {
    expect(() => make(wrong({ book: 'fixed' }))).not.toThrow()
    expect(() => make(wrong({ book: 'free' }))).toThrow("schemas.book: must be 'fixed'")
    for (const schemas of ['fixed', ['book'], null])
      expect(() => make(wrong(schemas))).toThrow("schemas: must be an object, such as { book: 'fixed' }")
  }
})

const shape = fc.constantFrom('plain', 'fills in', 'converts', 'sorts')
const schemas: Readonly<Record<string, Tool['input']>> = {
  plain: z.object({ n: z.number(), day: z.string().optional() }),
  'fills in': z.object({ n: z.number(), day: z.string().default('today') }),
  converts: z.object({ n: z.number().transform((n) => Math.abs(n)), day: z.string().optional() }),
  sorts: z.object({ day: z.string().optional(), n: z.number() }),
}
const someCall = fc.record(
  { n: fc.integer({ min: -2, max: 2 }), day: fc.constantFrom('today', 'Monday') },
  { requiredKeys: ['n'] },
)

test('whatever a schema does, eager tools execute the same inputs as often, and above read only unchanged ones early (W4)', async () => {
  await fc.assert(
    fc.asyncProperty(
      shape,
      fc.constantFrom<Effect>('read', 'calls', 'idempotent', 'reversible', 'external'),
      fc.array(someCall, { minLength: 1, maxLength: 4 }),
      async (what, effect, calls) => {
        const input = schemas[what] as Tool['input']
        const log = await made({ input, effect, calls })
        const waiting = await made({ input, effect, calls, eager: false })
        const inputs = (all: typeof log) => all.map(([, input]) => JSON.stringify(input)).toSorted()
        expect(inputs(log)).toEqual(inputs(waiting))
        const early = log.filter(([at]) => at < 100).map(([, input]) => input)
        if (effect !== 'read') for (const one of early) expect(calls).toContainEqual(one)
        if (effect === 'external') expect(early).toEqual([])
        if (effect === 'read') expect(early).toHaveLength(calls.length)
      },
    ),
    propertyRuns({ small: 6, middle: 9, whole: 20_000 }),
  )
})
