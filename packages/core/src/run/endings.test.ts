import { inspect } from 'node:util'
import { call, collect, fail, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { z as z3 } from 'zod/v3'
import { early, withdrawing } from '../../test/early-calls.ts'
import {
  agentTool,
  ConfigError,
  createAgent,
  HistoryError,
  type Message,
  type Middleware,
  type Model,
  type Tool,
  tool,
} from '../index.ts'

// What must not keep a run from ending, and what it ends with.

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const never = () => new Promise<never>(() => undefined)

test('a tool whose schema has no JSON Schema is refused at construction (A2)', () => {
  const odd = tool({ name: 'odd', description: 'o', input: z.object({ at: z.custom<Date>() }), execute: () => 'ok' })
  const make = () => createAgent({ model: scriptedModel([]), tools: [odd] })
  expect(make).toThrow(ConfigError)
  expect(make).toThrow('odd')
})

test('the JSON Schema of a tool is copied, also if only its surface is frozen, and the copy is frozen to its leaves (A2, P15)', async () => {
  const shown = () => ({ type: 'object', properties: { at: { enum: ['a'] } } })
  const [plain, surface] = [shown(), Object.freeze(shown())]
  const schemaOf = (input: object) => ({
    '~standard': {
      version: 1,
      vendor: 'own',
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: () => input },
    },
  })
  const inputs = { plain, surface }
  const tools = Object.entries(inputs).map(
    ([name, input]) => ({ name, description: 'd', input: schemaOf(input), execute: () => '' }) as Tool,
  )
  const model = scriptedModel([respond(say('done'))])
  await createAgent({ model, tools }).run('Go')
  for (const { properties } of [plain, surface]) properties.at.enum.push('b')
  expect(model.requests[0]?.tools?.map(({ inputSchema }) => inputSchema)).toEqual([shown(), shown()])
  const properties = model.requests[0]?.tools?.map(({ inputSchema }) => inputSchema.properties)
  expect(properties?.map(Object.isFrozen)).toEqual([true, true])
})

const NO_SCHEMA = 'the input of odd must be a Standard Schema with a JSON Schema: '
const ANY = `${NO_SCHEMA}use zod 4, or z.fromJSONSchema(schema)`
const VALIBOT = `${NO_SCHEMA}use toStandardJsonSchema(schema) of @valibot/to-json-schema`
const lacking = (vendor: string) => ({ '~standard': { version: 1, vendor, validate: () => ({}) } })
const wrongInputs: readonly (readonly [string, unknown, string])[] = [
  ['is not there', undefined, ANY],
  ['is JSON Schema', { type: 'object' }, ANY],
  ['is of zod 3', z3.object({}), `${NO_SCHEMA}use zod 4.2 or newer`],
  ['is of valibot', lacking('valibot'), VALIBOT],
  ['is of a library without JSON Schema', lacking('other'), ANY],
  [
    'contains a date',
    z.object({ at: z.date() }),
    `${NO_SCHEMA}Date cannot be represented in JSON Schema; write z.iso.datetime()`,
  ],
  ['contains a bigint', z.object({ n: z.bigint() }), `${NO_SCHEMA}BigInt cannot be represented in JSON Schema`],
  ['is no object', z.string(), 'the input of odd must be the schema of an object'],
]

test.for(wrongInputs)(
  'a tool whose input %s is refused with a message that its author understands (A2, W17)',
  ([, input, message]) => {
    const odd = { name: 'odd', description: 'o', input, execute: () => 'ok' } as Tool
    expect(() => createAgent({ model: scriptedModel([]), tools: [odd] })).toThrow(new ConfigError('tools', message))
  },
)

test('an error about the history contains the unchanged history (A15, A24)', async () => {
  const orphan: Message = { role: 'tool', callId: 'x', name: 'x', content: [] }
  const failed = createAgent({ model: scriptedModel([]) }).run([{ role: 'user', content: 'Hi' }, orphan])
  const error: unknown = await failed.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(HistoryError)
  expect(error).toMatchObject({ callIds: ['x'], messages: [{ role: 'user', content: 'Hi' }, orphan] })
})

test('a compensation that does not end has the same grace time as an aborted tool, and is a warning (H23)', async () => {
  const undo = tool({
    name: 'book',
    description: 'b',
    input: z.object({}),
    effect: 'reversible',
    execute: () => 'booked',
    compensate: never,
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('book'))]),
    tools: [undo],
    middleware: [withdrawing(), early],
    grace: 700,
  })
  const start = Date.now()
  const run = agent.run('Book')
  await vi.runAllTimersAsync()
  const { warnings } = await run
  expect(warnings).toEqual([{ code: 'compensation-failed', message: expect.stringContaining('book'), source: 'core' }])
  expect(Date.now() - start).toBe(700)
})

test('a side call that nothing awaits delays no answer: it is aborted, and abandoned after the grace time (K12)', async () => {
  const reasons: unknown[] = []
  const deaf = tool({
    name: 'deaf',
    description: 'd',
    input: z.object({}),
    execute: (_, { signal }) => {
      signal.addEventListener('abort', () => reasons.push(signal.aborted))
      return never()
    },
  })
  const aside: Middleware = {
    name: 'aside',
    beforeModel: (_, run) => {
      run.callTool({ type: 'tool-call', id: 'side', name: 'deaf', input: {} }).catch(() => undefined)
    },
  }
  const agent = createAgent({ model: scriptedModel([respond(say('Hi.'))]), tools: [deaf], middleware: [aside] })
  const run = agent.run('Hi')
  await vi.runAllTimersAsync()
  expect(await run).toMatchObject({ text: 'Hi.', abandoned: ['side'] })
  expect(reasons).toEqual([true])
})

test('a frozen error of a tool ends the run as that same object (A12)', async () => {
  const { ModelError } = await import('../index.ts')
  const frozen = Object.freeze(new ModelError('no', { code: 'x', retryable: false }))
  const broken = tool({
    name: 'broken',
    description: 'b',
    input: z.object({}),
    execute: () => {
      throw frozen
    },
  })
  const agent = createAgent({ model: scriptedModel([respond(call('broken')), respond(fail())]), tools: [broken] })
  await expect(agent.run('Go')).rejects.toBe(frozen)
})

test('a log of the error that ended a run shows nothing of the conversation (A24)', async () => {
  const failing = scriptedModel([respond(say('what the model said'), fail({ status: 400 }))])
  const error: unknown = await createAgent({ model: failing })
    .run('what the user said')
    .catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ messages: [{ content: 'what the user said' }], partial: { role: 'assistant' } })
  expect(inspect(error, { depth: 9 })).not.toContain('said')
})

test('an abort reaches the model even if a wrap replaced the signal in the request (K1)', async () => {
  const seen: boolean[] = []
  const own: Middleware = {
    name: 'own',
    wrapModel: (request, next) => next({ ...request, signal: new AbortController().signal }),
  }
  const silent: Model = {
    provider: 'p',
    id: 'm',
    async *stream({ signal }) {
      signal.addEventListener('abort', () => seen.push(true))
      return await never()
    },
  }
  const controller = new AbortController()
  const run = createAgent({ model: silent, middleware: [own] }).run('Hi', { signal: controller.signal })
  const failed = run.catch((error: unknown) => error)
  await vi.advanceTimersByTimeAsync(10)
  controller.abort()
  await vi.advanceTimersByTimeAsync(0)
  expect(seen).toEqual([true])
  expect(await failed).toMatchObject({ name: 'AbortError' })
  expect(vi.getTimerCount()).toBe(0)
})

const heeds = tool({
  name: 'heeds',
  description: 'h',
  input: z.object({}),
  execute: (_, { signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
})
const leaving: Middleware = {
  name: 'leaving',
  async *wrapAgent(setup, next) {
    const flow = next(setup)
    const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 100))
    for (;;) {
      const step = await Promise.race([flow.next(), late])
      if (!step) throw new ConfigError('time', 'is over')
      if (step.done) return step.value
      yield step.value
    }
  },
}

test('a wrapAgent that leaves while its calls are running withholds no end of a call from the reader (B6, C15)', async () => {
  const calls = ['a', 'b', 'c'].map((id) => call('heeds', {}, { id }))
  const agent = createAgent({ model: scriptedModel([respond(...calls)]), tools: [heeds], middleware: [leaving] })
  const collected = collect(agent.stream('Go'))
  await vi.runAllTimersAsync()
  const { error, events } = await collected
  expect(error).toMatchObject({
    name: 'ConfigError',
    messages: [{}, {}, { callId: 'a' }, { callId: 'b' }, { callId: 'c' }],
  })
  const ended = events.flatMap((event) => (event.type === 'tool-end' ? [event.callId] : []))
  expect(ended.toSorted()).toEqual(['a', 'b', 'c'])
})

test('the end of a call in a nested agent does not count as the end of a call with the same id (B6, M4)', async () => {
  const quick = tool({ name: 'quick', description: 'q', input: z.object({}), execute: () => 'ok' })
  const helper = createAgent({
    name: 'helper',
    description: 'h',
    model: scriptedModel([respond(call('quick', {}, { id: 'a' })), respond(wait(10_000), say('Late.'))]),
    tools: [quick],
  })
  const calls = [call('heeds', {}, { id: 'a' }), call('helper', { request: 'Help' }, { id: 'b' })]
  const agent = createAgent({
    model: scriptedModel([respond(...calls)]),
    tools: [heeds, agentTool(helper)],
    middleware: [leaving],
  })
  const collected = collect(agent.stream('Go'))
  await vi.runAllTimersAsync()
  const { events } = await collected
  const ended = events.flatMap((event) =>
    event.type === 'tool-end' ? [`${event.path ? 'helper ' : ''}${event.callId}`] : [],
  )
  expect(ended.toSorted()).toEqual(['a', 'b', 'helper a'])
})
