import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { early, startingEarly, withdrawing } from '../../test/early-calls.ts'
import {
  type Agent,
  AgentError,
  type AgentOptions,
  type AgentResult,
  type AgentRun,
  agentTool,
  type Checkpoint,
  CheckpointConflictError,
  CheckpointCorruptError,
  CheckpointError,
  CheckpointMismatchError,
  CheckpointMissingError,
  type CheckpointStore,
  CheckpointVersionError,
  ConfigError,
  createAgent,
  type Effect,
  interrupt,
  type Json,
  type Middleware,
  memoryStore,
  type ResumeOptions,
  type Run,
  type Tool,
  tool,
  UnknownInterruptError,
} from '../index.ts'
import { call, collect, end, respond, type ScriptedResponse, say, scriptedModel, wait } from '../testing.ts'
import { signed } from './checksum.ts'

let did: string[] = []

beforeEach(() => {
  did = []
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const anything = z.record(z.string(), z.unknown())

/** Works for this many milliseconds. */
const worker = (
  name: string,
  effect: Effect,
  more: Omit<Partial<Tool<Record<string, unknown>>>, 'needs' | 'execute'> = {},
) =>
  tool({
    name,
    description: name,
    input: anything,
    effect,
    ...(effect === 'reversible' && { compensate: () => void did.push(`undid ${name}`) }),
    async execute({ ms = 0 }, { attempt, idempotencyKey }) {
      did.push(`${name} ${attempt}`)
      keys.set(name, [...(keys.get(name) ?? []), idempotencyKey])
      if (Number(ms) > 0) await sleep(Number(ms))
      return `${name} done`
    },
    ...more,
  })
const keys = new Map<string, string[]>()

const book = tool({
  name: 'book',
  description: 'Books',
  input: anything,
  execute: (_, { answers, attempt }) => {
    did.push(`book ${attempt} ${JSON.stringify(answers)}`)
    if (answers.length === 0) throw interrupt('really?')
    return `booked: ${answers[0] as string}`
  },
})

const all = [
  book,
  worker('read', 'read'),
  worker('put', 'idempotent'),
  worker('hold', 'reversible'),
  worker('send', 'external'),
]

function agentOf(responses: readonly ScriptedResponse[], options: Omit<AgentOptions, 'model'> = {}) {
  const model = scriptedModel(responses)
  return { model, agent: createAgent({ model, name: 'travel', tools: all, ...options }) }
}

async function settled(run: AgentRun) {
  const reading = collect(run)
  await vi.runAllTimersAsync()
  return await reading
}

async function played(run: AgentRun) {
  const { events, result, error } = await settled(run)
  if (!result) throw error
  return { events, result, checkpoint: result.checkpoint }
}

const answersTo = ({ interrupts = [] }: AgentResult, answer: Json = 'yes') =>
  Object.fromEntries(interrupts.map(({ id }) => [id, answer]))

const textsOf = ({ messages }: AgentResult) =>
  messages.flatMap(({ content }) =>
    typeof content === 'string' ? [content] : content.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
  )

/** An interrupted run, with its checkpoint as read from a file. */
async function interrupted(options: Omit<AgentOptions, 'model'> = {}) {
  const { agent } = agentOf([respond(call('book'), end({ usage: { inputTokens: 3 } }))], options)
  const { result } = await played(agent.stream('Go'))
  return { result, checkpoint: JSON.parse(JSON.stringify(result.checkpoint)) as Checkpoint }
}

/** What a store contained this many milliseconds after a run began, as after a kill. */
async function killed(
  responses: readonly ScriptedResponse[],
  after: number,
  options: Omit<AgentOptions, 'model'> = {},
) {
  const checkpoints = memoryStore()
  const { agent } = agentOf(responses, { checkpoints, ...options })
  const controller = new AbortController()
  const run = agent.stream('Go', { signal: controller.signal })
  await vi.advanceTimersByTimeAsync(after)
  const stored = await checkpoints.load(run.id)
  controller.abort()
  const aborted = await settled(run)
  expect(aborted.error).toMatchObject({ name: 'AbortError' })
  // An abort saves only its undos (K1, P22), and a killed process does not even save those.
  const { calls, status } = stored as Checkpoint
  expect(await checkpoints.load(run.id)).toMatchObject({ calls, status })
  const left = memoryStore()
  await left.save(run.id, stored as Checkpoint, 0)
  did = []
  return { checkpoints: left, id: run.id, stored: stored as Checkpoint }
}

test('a checkpoint equals its JSON, and names format, agent and run (L13)', async () => {
  const { result } = await interrupted()
  const { checkpoint } = result
  expect(JSON.parse(JSON.stringify(checkpoint))).toEqual(checkpoint)
  expect(JSON.parse(JSON.stringify(checkpoint))).toStrictEqual(checkpoint)
  expect(checkpoint).toMatchObject({ format: 2, agent: 'travel', runId: expect.any(String), status: 'interrupted' })
  expect(Object.isFrozen(checkpoint?.messages[0])).toBe(true)
})

test('messages with undefined members, dates and such are saved as JSON has them (L13)', async () => {
  const odd = { p: { gone: undefined, at: new Date(0), list: [undefined] } }
  const { agent } = agentOf([respond(call('book'))])
  const part = { type: 'text' as const, text: 'Go', providerMetadata: odd }
  const { checkpoint } = await played(agent.stream([{ role: 'user', content: [part] }]))
  expect(JSON.parse(JSON.stringify(checkpoint))).toStrictEqual(checkpoint)
  const next = agentOf([respond(say('Done'))])
  const id = checkpoint?.interrupts[0]?.id ?? ''
  const { result } = await played(next.agent.resume(JSON.parse(JSON.stringify(checkpoint)), { [id]: 1 }))
  expect(result.text).toBe('Done')
})

test('a value that is not JSON makes the checkpoint fail with a typed error, and does not end the process (L13, L16)', async () => {
  const big = tool({
    ...worker('big', 'read'),
    toContent: () => [{ type: 'text', text: 'x', providerMetadata: { p: { n: 1n } } }],
  })
  const { agent } = agentOf([respond(call('big'), call('book'))], { tools: [big, book] })
  expect((await settled(agent.stream('Go'))).error).toMatchObject({ name: 'CheckpointStoreError' })
})

test('usage, warnings and steps continue after a resume; the limit counts them (L11)', async () => {
  const { result, checkpoint } = await interrupted({
    maxSteps: 2,
    middleware: [{ name: 'warner', beforeModel: (_, run) => run.warn({ code: 'w', message: String(run.step) }) }],
  })
  const { agent } = agentOf([respond(call('read'), end({ usage: { inputTokens: 4, outputTokens: 1 } }))], {
    maxSteps: 2,
    middleware: [{ name: 'warner', beforeModel: (_, run) => run.warn({ code: 'w', message: String(run.step) }) }],
  })
  const { error } = await settled(agent.resume(checkpoint, answersTo(result)))
  expect(error).toMatchObject({ name: 'MaxStepsError', maxSteps: 2, usage: { inputTokens: 7, outputTokens: 1 } })
  const other = agentOf([respond(say('Done'))])
  const done = await played(other.agent.resume(checkpoint, answersTo(result)))
  expect(done.result).toMatchObject({
    steps: 2,
    usage: { inputTokens: 3 },
    warnings: [{ code: 'w', message: '1', source: 'warner' }],
  })
})

test('ids of calls stay taken after a resume, also those of side calls (G10)', async () => {
  const aside: Middleware = {
    name: 'aside',
    beforeModel: async (_, run) => {
      if (run.step === 1) await run.callTool({ type: 'tool-call', id: 'side', name: 'read', input: {} })
    },
  }
  const { result, checkpoint } = await interrupted({ middleware: [aside] })
  const { agent } = agentOf([respond(call('read', {}, { id: 'side' })), respond(say('Done'))], { middleware: [aside] })
  const done = await played(agent.resume(checkpoint, answersTo(result)))
  const ids = done.result.messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
  expect(ids).toHaveLength(2)
  expect(ids).not.toContain('side')
  expect(did).toEqual(['read 1', 'book 1 []', 'book 2 ["yes"]', 'read 1'])
})

test('an answer to an unknown or old question is refused, and nothing runs (L5)', async () => {
  const { result, checkpoint } = await interrupted()
  did = []
  const { agent, model } = agentOf([])
  for (const id of ['interrupt_x', '__proto__', 'constructor', '']) {
    const answers = Object.fromEntries([...Object.entries(answersTo(result)), [id, 1]])
    const { error, events } = await settled(agent.resume(checkpoint, answers))
    expect(error).toBeInstanceOf(UnknownInterruptError)
    expect(error).toMatchObject({ ids: [id] })
    expect(events).toEqual([])
  }
  const once = await played(agentOf([respond(call('book'))]).agent.resume(checkpoint, answersTo(result)))
  expect(once.result.status).toBe('interrupted')
  did = []
  const old = await settled(agent.resume(once.result.checkpoint as Checkpoint, answersTo(result)))
  expect(old.error).toBeInstanceOf(UnknownInterruptError)
  expect([did, model.requests]).toEqual([[], []])
})

test('ids of questions depend only on run, address and count: they are the same in every process (L5)', async () => {
  const { result, checkpoint } = await interrupted()
  const one = await played(agentOf([]).agent.resume(checkpoint))
  const two = await played(agentOf([]).agent.resume(JSON.parse(JSON.stringify(checkpoint)) as Checkpoint))
  expect(one.result.interrupts).toEqual(result.interrupts)
  expect(two.result.interrupts).toEqual(result.interrupts)
})

test.each([null, 'yes', ['yes'], 7])(
  'answers that are not an object by id are refused, and nothing runs: %j (L5)',
  async (answers) => {
    const { result, checkpoint } = await interrupted()
    const { agent, model } = agentOf([])
    did = []
    const run: AgentRun = Reflect.apply(agent.resume, agent, [checkpoint, answers])
    const error = await run.result.catch((error: unknown) => error)
    expect(error).toBeInstanceOf(ConfigError)
    expect(error).toMatchObject({
      option: 'answers',
      message: `answers: must be an object with an answer for each interrupt, by its id, not ${JSON.stringify(answers)}`,
    })
    expect(did).toEqual([])
    expect(model.requests).toEqual([])
    const again = agentOf([respond(say('Done'))]).agent
    expect((await settled(again.resume(checkpoint, answersTo(result)))).result?.status).toBe('completed')
  },
)

test('a checkpoint of the caller is neither changed nor frozen (L13)', async () => {
  const { result, checkpoint } = await interrupted()
  const before = structuredClone(checkpoint)
  await played(agentOf([respond(say('Done'))]).agent.resume(checkpoint, answersTo(result)))
  expect(checkpoint).toEqual(before)
  expect(Object.isFrozen(checkpoint.messages)).toBe(false)
})

test('a checkpoint with its members in another order, as a database may return them, is the same (L13, L18)', async () => {
  const { result, checkpoint } = await interrupted()
  const turned = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(turned)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value)
        .toReversed()
        .map(([key, member]) => [key, turned(member)]),
    )
  }
  const { agent } = agentOf([respond(say('Done'))])
  const none = await played(agent.resume(turned(checkpoint) as Checkpoint))
  expect(none.result.interrupts).toEqual(result.interrupts)
  expect(did).toEqual(['book 1 []'])
  const done = await played(agent.resume(turned(checkpoint) as Checkpoint, answersTo(result)))
  expect(textsOf(done.result)).toEqual(['Go', 'booked: yes', 'Done'])
})

test('a checkpoint that was damaged at any place is refused, and nothing runs (L18)', async () => {
  vi.useRealTimers()
  const full = await richCheckpoint()
  const places: (string | number)[][] = []
  const walk = (value: unknown, path: (string | number)[]) => {
    if (path.length > 0) places.push(path)
    if (Array.isArray(value)) for (const [index, item] of value.entries()) walk(item, [...path, index])
    else if (typeof value === 'object' && value !== null)
      for (const [key, member] of Object.entries(value)) walk(member, [...path, key])
  }
  walk(full, [])
  let ran = 0
  const tools = all.map((one) => ({ ...one, execute: () => ran++ }))
  const model = scriptedModel([])
  const agent = createAgent({
    model,
    name: 'travel',
    tools,
    middleware: [{ name: 'm', beforeModel: () => void ran++ }],
  })
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...places),
      fc.oneof(
        fc.constant({ drop: true }),
        fc.jsonValue().map((to) => ({ to })),
      ),
      async (path, change) => {
        const copy = structuredClone(full) as never
        const last = path.at(-1) as never
        const parent = path.slice(0, -1).reduce<never>((value, key) => value[key as never], copy)
        if (path[0] === 'revision' && 'to' in change && Number.isInteger(change.to)) return
        if ('drop' in change) {
          if (Array.isArray(parent)) (parent as unknown[]).splice(Number(last), 1)
          else delete parent[last]
        } else parent[last] = change.to as never
        if (JSON.stringify(copy) === JSON.stringify(full)) return
        const { error, events } = await collect(agent.resume(copy))
        expect(error).toBeInstanceOf(AgentError)
        expect(events).toEqual([])
        expect([ran, model.requests]).toEqual([0, []])
      },
    ),
    propertyRuns({ small: 200, middle: 2_000, whole: 50_000 }),
  )
})

/** A checkpoint with a value in every member. */
async function richCheckpoint(): Promise<Checkpoint> {
  const checkpoints = memoryStore()
  const asking: Middleware = {
    name: 'asking',
    async *wrapToolCall(one, next, run) {
      const message = yield* next(one)
      if (one.name === 'put' && run.answers.length === 0) throw interrupt({ after: ['put'] })
      return message
    },
    beforeModel: (_, run) => run.warn({ code: 'w', message: 'x' }),
  }
  const { agent } = agentOf(
    [respond(say('Hm.'), call('read'), call('put'), call('book'), end({ usage: { inputTokens: 1 } }))],
    {
      checkpoints,
      middleware: [asking],
    },
  )
  const run = agent.stream('Go')
  run.send('And?')
  const { checkpoint } = await run.result
  return JSON.parse(JSON.stringify(checkpoint)) as Checkpoint
}

test.each<[string, unknown]>([
  ['null', null],
  ['undefined', undefined],
  ['a number', 7],
  ['a list', []],
  ['an empty object', {}],
  ['a function', () => 1],
  ['a bigint inside', { format: 1, runId: 'r', messages: [1n] }],
  [
    'a value that contains itself',
    (() => {
      const self: { self?: unknown } = {}
      self.self = self
      return self
    })(),
  ],
  ['100,000 levels', JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)],
])('%s is not a checkpoint (L18)', async (_, value) => {
  const { agent, model } = agentOf([])
  const run: AgentRun = Reflect.apply(agent.resume, agent, [value])
  await expect(run.result).rejects.toBeInstanceOf(CheckpointCorruptError)
  expect(model.requests).toEqual([])
})

test.each<[string, object]>([
  ['it has no calls', { calls: undefined }],
  ['it has no steps', { steps: undefined }],
  ['its messages are a number', { messages: 5 }],
  ['one of its messages is null', { messages: [null] }],
  ['one of its calls has no tool', { calls: [{ call: {} }] }],
  ['its warnings are null', { warnings: null }],
  ['its usage is null', { usage: null }],
  ['its sent messages are null', { sent: null }],
  ['it has completed, and has no result', { status: 'completed' }],
])('a checkpoint with the correct checksum is refused as damaged if %s (L18)', async (_, change) => {
  const { checkpoint } = await interrupted()
  const { checksum: __, ...rest } = { ...checkpoint, ...change } as Checkpoint
  const { agent, model } = agentOf([])
  const damaged = JSON.parse(JSON.stringify(signed(rest))) as Checkpoint
  await expect(agent.resume(damaged).result).rejects.toBeInstanceOf(CheckpointCorruptError)
  expect(model.requests).toEqual([])
})

test('a newer format, another agent and a missing tool are each refused with their own error (L18)', async () => {
  const { result, checkpoint } = await interrupted()
  const { agent } = agentOf([])
  const newer = { ...checkpoint, format: 3, whatever: true }
  const { runId: id } = checkpoint
  const later = await Reflect.apply(agent.resume, agent, [newer]).result.catch((error: unknown) => error)
  expect(later).toBeInstanceOf(CheckpointVersionError)
  expect(later).toMatchObject({ id, found: 3, supported: 2 })
  const named = agentOf([], { name: 'other' }).agent
  const others = await named.resume(checkpoint).result.catch((error: unknown) => error)
  expect(others).toBeInstanceOf(CheckpointMismatchError)
  const whose = 'it belongs to agent travel, but this is agent other'
  expect(others).toMatchObject({ id, message: `checkpoint "${id}": ${whose}` })
  // One catch clause can handle all of them.
  for (const error of [later, others]) expect(error).toBeInstanceOf(CheckpointError)
  const bare = agentOf([], { tools: [] })
  did = []
  await expect(bare.agent.resume(checkpoint, answersTo(result)).result).rejects.toThrow('book')
  await expect(bare.agent.resume(checkpoint).result).rejects.toBeInstanceOf(CheckpointMismatchError)
  expect([did, bare.model.requests]).toEqual([[], []])
})

test('a call that had not started also requires its tool (L18)', async () => {
  const { agent } = agentOf([respond(call('send'), wait(10))])
  const run = agent.stream('Go')
  await vi.advanceTimersByTimeAsync(5)
  void run.cancel({ at: 'after-model' })
  const { result } = await played(run)
  const bare = agentOf([], { tools: [] })
  await expect(bare.agent.resume(result.checkpoint as Checkpoint).result).rejects.toThrow('the agent has no tool send')
  expect(did).toEqual([])
})

test('damaged bytes, or none, stored with an id are refused, and stay (L18)', async () => {
  const { checkpoint } = await interrupted()
  const checkpoints = memoryStore()
  await checkpoints.save('damaged', { runId: 'damaged', revision: 1 }, 0)
  await checkpoints.save('elsewhere', { ...checkpoint, revision: 1 }, 0)
  const { agent } = agentOf([], { checkpoints })
  await expect(agent.resume('damaged').result).rejects.toBeInstanceOf(CheckpointCorruptError)
  await expect(agent.resume('elsewhere').result).rejects.toBeInstanceOf(CheckpointMismatchError)
  await expect(agent.resume('none').result).rejects.toBeInstanceOf(CheckpointMissingError)
  await expect(agentOf([]).agent.resume('none').result).rejects.toBeInstanceOf(ConfigError)
  expect(await checkpoints.load('damaged')).toEqual({ runId: 'damaged', revision: 1 })
  expect(await checkpoints.load('elsewhere')).toMatchObject({ revision: 1 })
})

test('if two processes resume one stored checkpoint, one continues; the other runs nothing (L19)', async () => {
  const checkpoints = memoryStore()
  const { agent, model } = agentOf([respond(call('book')), respond(say('Done'))], { checkpoints })
  const { result } = await played(agent.stream('Go'))
  did = []
  const id = result.checkpoint?.runId ?? ''
  const runs = [agent.resume(id, answersTo(result)), agent.resume(result.checkpoint as Checkpoint, answersTo(result))]
  const ends = await Promise.all(runs.map(settled))
  expect(ends.map(({ result }) => result?.text).filter(Boolean)).toEqual(['Done'])
  expect(ends.map(({ error }) => error).filter(Boolean)).toEqual([expect.any(CheckpointConflictError)])
  expect(ends.find(({ error }) => error)?.error).toMatchObject({
    message: expect.stringMatching(/is stored: another process has saved or resumed this run$/),
  })
  expect(did).toEqual(['book 2 ["yes"]'])
  expect(model.requests).toHaveLength(2)
})

test('a resumed run makes no model call and no tool call before its claim is saved (MA19, L19)', async () => {
  const inner = memoryStore()
  const stored = { ms: 0 }
  const checkpoints: CheckpointStore = {
    ...inner,
    save: (id, checkpoint, expected) => sleep(stored.ms).then(() => inner.save(id, checkpoint, expected)),
  }
  const ask: Middleware = {
    name: 'ask',
    beforeModel: (_, run) => {
      if (run.answers.length === 0) throw interrupt('go on?')
    },
  }
  const first = agentOf([respond(call('book'))], { checkpoints })
  const { result: atCall } = await played(first.agent.stream('Go'))
  const second = agentOf([respond(say('Done'))], { checkpoints, middleware: [ask] })
  const { result: atModel } = await played(second.agent.stream('Go'))
  did = []
  stored.ms = 1_000
  const reading = [
    collect(first.agent.resume(atCall.checkpoint as Checkpoint, answersTo(atCall))),
    collect(second.agent.resume(atModel.checkpoint as Checkpoint, answersTo(atModel))),
  ]
  await vi.advanceTimersByTimeAsync(999)
  expect(did).toEqual([])
  expect(second.model.requests).toHaveLength(0)
  await vi.advanceTimersByTimeAsync(2)
  expect(second.model.requests).toHaveLength(1)
  await vi.runAllTimersAsync()
  await Promise.all(reading)
  expect(did).toEqual(['book 2 ["yes"]'])
})

test('a run that another process has resumed in the meantime stops (L19, L14)', async () => {
  const checkpoints = memoryStore()
  const { agent } = agentOf([respond(call('read', { ms: 100 })), respond(call('send')), respond(say('Late'))], {
    checkpoints,
  })
  const run = agent.stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(50)
  const other = agentOf([respond(say('Taken'))], { checkpoints })
  const taken = collect(other.agent.resume(run.id))
  await vi.runAllTimersAsync()
  expect((await taken).result?.text).toBe('Taken')
  expect((await reading).error).toBeInstanceOf(CheckpointConflictError)
  expect(did).not.toContain('send 1')
})

test('a run that another process has resumed undoes none of its early calls: the other process continues with them (L19, H23)', async () => {
  const checkpoints = memoryStore()
  const responses = (ms: number) => [respond(call('hold'), wait(ms), say('late')), respond(say('Done'))]
  const first = agentOf(responses(500), { checkpoints, middleware: [early] }).agent.stream('Go')
  const reading = collect(first)
  await vi.advanceTimersByTimeAsync(50)
  const second = collect(agentOf(responses(20), { checkpoints, middleware: [early] }).agent.resume(first.id))
  await vi.runAllTimersAsync()
  expect((await reading).error).toBeInstanceOf(CheckpointConflictError)
  const { result } = await second
  expect(result && textsOf(result)).toEqual(['Go', 'late', 'hold done', 'Done'])
  expect(did).toEqual(['hold 1'])
})

test('a completed run returns its result again, without any call (L19)', async () => {
  const checkpoints = memoryStore()
  const noting: Middleware = { name: 'noting', beforeAgent: () => void did.push('beforeAgent') }
  const { agent, model } = agentOf([respond(call('read')), respond(say('Done'), end({ usage: { inputTokens: 1 } }))], {
    checkpoints,
    middleware: [noting],
  })
  const { result, events } = await played(agent.stream('Go'))
  did = []
  const again = await played(agent.resume(events[0]?.runId ?? ''))
  expect(again.result).toEqual(result)
  expect(again.events.map(({ type }) => type)).toEqual(['run-start', 'run-end'])
  expect([did, model.requests.length]).toEqual([[], 2])
  await expect(agent.resume(events[0]?.runId ?? '', { x: 1 }).result).rejects.toBeInstanceOf(UnknownInterruptError)
})

test('a read that was cut off is made again with its key, and reports that; a settled call is not repeated (L20, B6, I6)', async () => {
  keys.clear()
  const responses = [
    respond(call('read', { ms: 100 }), call('send', { n: 1 }), call('put', { ms: 20 })),
    respond(say('Done')),
  ]
  const { checkpoints, id, stored } = await killed(responses, 50)
  expect(stored.status).toBe('running')
  const { agent, model } = agentOf([respond(say('Done'))], { checkpoints })
  const run = agent.resume(id)
  const { result, events } = await played(run)
  expect([run.toolStatus('call_1_2'), run.cancelTool('call_1_2')]).toMatchObject([{ state: 'ok' }, false])
  expect(did).toEqual(['read 2'])
  expect(new Set(keys.get('read')).size).toBe(1)
  expect(events.filter(({ type }) => type === 'tool-start')).toMatchObject([{ callId: 'call_1_1', rerun: true }])
  expect(textsOf(result)).toEqual(['Go', 'read done', 'send done', 'put done', 'Done'])
  expect(result.unknown).toBeUndefined()
  expect(model.requests).toHaveLength(1)
})

test.each<[Effect, readonly Effect[] | undefined]>([
  ['idempotent', undefined],
  ['reversible', undefined],
  ['external', undefined],
  ['read', []],
  ['external', ['read', 'idempotent']],
])('a %s call that was cut off may have happened: with rerun %j it is not made again (L21)', async (effect, rerun) => {
  const name = all.slice(1).find((one) => one.effect === effect)?.name ?? ''
  const { checkpoints, id } = await killed([respond(call(name, { ms: 100 }), call('read', { ms: 20 }))], 50)
  const { agent } = agentOf([respond(say('Done'))], { checkpoints })
  const { result, events } = await played(agent.resume(id, {}, rerun && { rerun }))
  expect(did).toEqual([])
  expect(result.unknown).toEqual(['call_1_1'])
  expect(result.messages[2]).toMatchObject({ role: 'tool', callId: 'call_1_1', isError: true })
  expect(textsOf(result)[1]).toBe(
    'This call had started when the run was cut off. Its result is unknown: it may have happened. It was not run again.',
  )
  expect(events.filter(({ type }) => type === 'tool-end')).toMatchObject([{ callId: 'call_1_1' }])
})

test('rerun extends what is made again (L20)', async () => {
  const { checkpoints, id } = await killed([respond(call('put', { ms: 100 }), call('send', { ms: 20 }))], 50)
  const { agent } = agentOf([respond(say('Done'))], { checkpoints })
  const { result, events } = await played(agent.resume(id, {}, { rerun: ['read', 'idempotent'] }))
  expect(did).toEqual(['put 2'])
  expect(result.unknown).toBeUndefined()
  expect(events.filter(({ type }) => type === 'tool-start')).toMatchObject([{ rerun: true }])
  const wrong = Reflect.apply(agent.resume, agent, [id, {}, { rerun: ['all'] }]) as AgentRun
  await expect(wrong.result).rejects.toBeInstanceOf(ConfigError)
})

test('a call that had not started when the process ended is made, with the key it would have had (L20, H25)', async () => {
  keys.clear()
  const response = respond(call('send', { ms: 100 }), call('send', { ms: 100 }), call('put'))
  const { checkpoints, id } = await killed([response], 50, { toolConcurrency: 1 })
  const { agent } = agentOf([respond(say('Done'))], { checkpoints, toolConcurrency: 1 })
  const { result } = await played(agent.resume(id))
  expect(did).toEqual(['send 1', 'put 1'])
  expect(result.unknown).toEqual(['call_1_1'])
  expect(new Set(keys.get('send')).size).toBe(2)
})

test('an inner call follows the same rule: cut off, the read starts again and its write stays unknown (L20, L21)', async () => {
  const plan = tool({
    ...worker('plan', 'read'),
    async execute(_, { run, attempt }) {
      did.push(`plan ${attempt}`)
      const { isError } = await (run as Run).callTool({
        type: 'tool-call',
        id: 'inner',
        name: 'send',
        input: { ms: 100 },
      })
      return isError ? 'unknown' : 'sent'
    },
  })
  const { checkpoints, id } = await killed([respond(call('plan'))], 50, { tools: [plan, ...all] })
  const { agent } = agentOf([respond(say('Done'))], { checkpoints, tools: [plan, ...all] })
  const { result } = await played(agent.resume(id))
  expect(did).toEqual(['plan 2'])
  expect(result.unknown).toEqual(['inner'])
  expect(textsOf(result)).toEqual(['Go', 'unknown', 'Done'])
})

test('a second next after a resume continues the count of attempts (C14)', async () => {
  let failures = 0
  const flaky = tool({
    ...worker('flaky', 'external'),
    execute: (_, { attempt, answers, idempotencyKey }) => {
      did.push(`flaky ${attempt} ${idempotencyKey.split('/').at(-1)}`)
      if (answers.length === 0) throw interrupt()
      if (failures++ === 0) throw new Error('busy')
      return 'ok'
    },
  })
  const again: Middleware = {
    name: 'again',
    async *wrapToolCall(one, next) {
      try {
        return yield* next(one)
      } catch (error) {
        if (error instanceof AgentError) throw error
        return yield* next(one)
      }
    },
  }
  const { agent } = agentOf([respond(call('flaky')), respond(say('Done'))], { tools: [flaky], middleware: [again] })
  const first = await played(agent.stream('Go'))
  const { result } = await played(agent.resume(first.checkpoint as Checkpoint, answersTo(first.result)))
  expect(did).toEqual(['flaky 1 0', 'flaky 2 0', 'flaky 3 0'])
  expect(textsOf(result)).toEqual(['Go', 'ok', 'Done'])
})

test('the first execution of a call is attempt 1, although the call had waited for its turn when the process was killed (L20, C14)', async () => {
  const tools = [worker('put', 'idempotent', { writes: () => ['one'] })]
  const responses = [respond(call('put', { ms: 500, n: 1 }), call('put', { n: 2 })), respond(say('Done'))]
  const { stored, id, checkpoints } = await killed(responses, 200, { tools })
  expect(stored.calls.map(({ attempts }) => attempts)).toEqual([1, 0])
  await played(agentOf([respond(say('Done'))], { tools, checkpoints }).agent.resume(id))
  expect(did).toEqual(['put 1'])
})

test('the same holds if its input was being checked when its run was cancelled (K15, C14)', async () => {
  const input = anything.refine(() => sleep(100).then(() => true))
  const tools = [worker('look', 'read', { input })]
  const run = agentOf([respond(call('look')), respond(say('Done'))], { tools }).agent.stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(50)
  void run.cancel()
  await vi.runAllTimersAsync()
  const { checkpoint } = (await reading).result ?? {}
  expect(checkpoint?.calls.map(({ attempts }) => attempts)).toEqual([0])
  await played(agentOf([respond(say('Done'))], { tools }).agent.resume(checkpoint as Checkpoint))
  expect(did).toEqual(['look 1'])
})

test('a run lists calls that it abandoned before it was interrupted also after its resume (K12, L13)', async () => {
  const deaf = worker('deaf', 'read', { timeout: 50 })
  const { agent } = agentOf([respond(call('deaf', { ms: 10_000 })), respond(call('book')), respond(say('Done'))], {
    tools: [deaf, book],
    grace: 10,
  })
  const first = await played(agent.stream('Go'))
  expect(first.result).toMatchObject({ status: 'interrupted', abandoned: ['call_1_1'] })
  const stored = JSON.parse(JSON.stringify(first.checkpoint)) as Checkpoint
  const last = await played(agent.resume(stored, answersTo(first.result)))
  expect(last.result).toMatchObject({ status: 'completed', abandoned: ['call_1_1'] })
})

test('the gate of a resumed step receives how the model’s answer had ended (L8, E1)', async () => {
  const reasons: unknown[] = []
  const asking: Middleware = {
    name: 'asking',
    beforeFinalAnswer: ({ finishReason }, run) => {
      reasons.push(finishReason)
      if (run.answers.length === 0) throw interrupt('good enough?')
    },
  }
  const direct = worker('direct', 'read', { returnDirect: true })
  const responses = [respond(call('direct'), end({ finishReason: 'stop' }))]
  const { agent } = agentOf(responses, { tools: [direct], middleware: [asking] })
  const { result } = await played(agent.stream('Go'))
  const stored = JSON.parse(JSON.stringify(result.checkpoint)) as Checkpoint
  const last = await played(agent.resume(stored, answersTo(result)))
  expect(reasons).toEqual(['stop', 'stop'])
  expect(last.result).toMatchObject({ stopReason: 'return-direct', finishReason: 'stop' })
})

test('a question of a nested agent stays open when the run stops in beforeAgent, answered or not (L4, L8)', async () => {
  let asks = false
  const asking: Middleware = {
    name: 'asking',
    beforeAgent: (_, run) => {
      if (asks && run.answers.length === 0) throw interrupt('who are you?')
    },
  }
  const model = scriptedModel([respond(call('book')), respond(say('Booked.'))])
  const expert = createAgent({ model, name: 'expert', description: 'Books.', tools: [book] })
  const responses = [respond(call('expert', { request: 'Book' })), respond(say('Done'))]
  const { agent } = agentOf(responses, { tools: [agentTool(expert)], middleware: [asking] })
  const first = await played(agent.stream('Go'))
  asks = true
  const second = await played(agent.resume(first.checkpoint as Checkpoint, answersTo(first.result)))
  expect(second.result.interrupts).toMatchObject([{ payload: 'really?' }, { payload: 'who are you?' }])
  const third = await played(agent.resume(second.checkpoint as Checkpoint, answersTo(second.result)))
  expect(third.result.text).toBe('Done')
  expect(did).toEqual(['book 1 []', 'book 2 ["yes"]'])
})

test('an answer to a nested agent is kept when its run is cancelled before the agent continues (L5, L8)', async () => {
  const model = scriptedModel([respond(call('book'), call('book', { n: 2 })), respond(say('Booked.'))])
  const expert = createAgent({ model, name: 'expert', description: 'Books.', tools: [book] })
  const tools = [agentTool(expert)]
  const { agent } = agentOf([respond(call('expert', { request: 'Book' })), respond(say('Done'))], { tools })
  const first = await played(agent.stream('Go'))
  const stored = memoryStore()
  const checkpoints: CheckpointStore = { ...stored, save: (...saved) => sleep(100).then(() => stored.save(...saved)) }
  const slow = agentOf([], { tools, checkpoints }).agent
  const cancelledWith = async (from: Checkpoint, answers: Record<string, Json>) => {
    const run = slow.resume(from, answers)
    const reading = collect(run)
    await vi.advanceTimersByTimeAsync(50)
    void run.cancel()
    await vi.runAllTimersAsync()
    const { checkpoint } = (await reading).result ?? {}
    return JSON.parse(JSON.stringify(checkpoint)) as Checkpoint
  }
  const answered = await cancelledWith(first.checkpoint as Checkpoint, answersTo(first.result))
  expect(answered.interrupts).toEqual([])
  const again = await cancelledWith(answered, {})
  did = []
  const { result } = await played(agent.resume(again))
  expect(result).toMatchObject({ status: 'completed', text: 'Done' })
  expect(did).toEqual(['book 2 ["yes"]', 'book 2 ["yes"]'])
})

test.each([1, 2])(
  'an answer to an agent, %i deep, is kept whenever the process is killed after the claim of its resume (L5, L19)',
  async (depth) => {
    let save = () => {}
    /** The outermost run is saved in the middle of each set-up. */
    const slow: Middleware = { name: 'slow', beforeAgent: () => sleep(10).then(() => save()) }
    const agentsOf = (responses: (request: ReturnType<typeof call>) => readonly ScriptedResponse[]): Agent => {
      const common = { description: 'Books.', middleware: [slow] }
      const expert = { ...common, name: 'expert', tools: [book], model: scriptedModel(responses(call('book'))) }
      let agent = createAgent(expert)
      for (let level = 1; level <= depth; level++) {
        const model = scriptedModel(responses(call(agent.name ?? '', { request: 'Book' })))
        agent = createAgent({ ...common, name: `level-${level}`, model, tools: [agentTool(agent)] })
      }
      return agent
    }
    const first = await played(agentsOf((request) => [respond(request)]).stream('Go'))
    const store = memoryStore()
    const saved: Checkpoint[] = []
    const checkpoints: CheckpointStore = {
      ...store,
      async save(id, checkpoint, expected) {
        await store.save(id, checkpoint, expected)
        saved.push((await store.load(id)) as Checkpoint)
      },
    }
    const from = { ...(first.checkpoint as Checkpoint), revision: 0 }
    const resumedFrom = (checkpoint: Checkpoint, answers: Record<string, Json>, options?: ResumeOptions) =>
      agentsOf(() => Array(5).fill(respond(say('Done')))).resume(checkpoint, answers, options)
    const run = resumedFrom(from, answersTo(first.result), { checkpoints })
    save = () => void run.send('And?')
    expect((await played(run)).result.text).toBe('Done')
    save = () => {}
    const running = saved.filter(({ status }) => status === 'running')
    const texts: string[] = []
    for (const checkpoint of running) texts.push((await played(resumedFrom(checkpoint, {}))).result.text)
    expect(texts).toEqual(running.map(() => 'Done'))
    const inSetUp = running.filter(({ sent, calls }) => sent.length > 0 && calls.some(({ runs }) => runs.length > 0))
    expect(inSetUp.length).toBeGreaterThanOrEqual(depth)
  },
)

test('the set-up is made again for a resume, and changes by beforeAgent apply (C6)', async () => {
  const { result, checkpoint } = await interrupted({ tools: [], middleware: [adding] })
  const { agent, model } = agentOf([respond(say('Done'))], { tools: [], middleware: [adding] })
  await played(agent.resume(checkpoint, answersTo(result)))
  expect(model.requests).toMatchObject([{ instructions: 'Be brief.', tools: [{ name: 'book' }] }])
  expect(did.filter((word) => word === 'beforeAgent')).toHaveLength(2)
})

const adding: Middleware = {
  name: 'adding',
  beforeAgent: (setup) => {
    did.push('beforeAgent')
    return { ...setup, instructions: 'Be brief.', tools: [book] }
  },
}

test('a stop in beforeAgent of a resumed run keeps its calls, answers and questions (H27, L8)', async () => {
  let asks = false
  const asking: Middleware = {
    name: 'asking',
    beforeAgent: (_, run) => {
      if (asks && run.answers.length === 0) throw interrupt('who are you?')
    },
  }
  const checkpoints = memoryStore()
  const { agent } = agentOf([respond(call('send'), call('book'), call('book', { n: 2 })), respond(say('Done'))], {
    checkpoints,
    middleware: [asking],
  })
  const first = await played(agent.stream('Go'))
  const [one = '', two = ''] = first.result.interrupts?.map(({ id }) => id) ?? []
  asks = true
  const second = await played(agent.resume(first.checkpoint?.runId ?? '', { [one]: 1 }))
  expect(second.result.interrupts).toMatchObject([{ id: two }, { payload: 'who are you?' }])
  const [, who = ''] = second.result.interrupts?.map(({ id }) => id) ?? []
  const third = await played(agent.resume(second.checkpoint?.runId ?? '', { [who]: 'me', [two]: 2 }))
  expect(did).toEqual(['send 1', 'book 1 []', 'book 1 []', 'book 2 [1]', 'book 2 [2]'])
  expect(textsOf(third.result)).toEqual(['Go', 'send done', 'booked: 1', 'booked: 2', 'Done'])
})

test('a cancel before a resumed run has read its calls keeps them (H27, K15)', async () => {
  const { agent } = agentOf([respond(call('send'), call('book'))], {})
  const first = await played(agent.stream('Go'))
  const slow: Middleware = { name: 'slow', beforeAgent: () => sleep(100) }
  const other = agentOf([respond(say('Done'))], { middleware: [slow] })
  const run = other.agent.resume(first.checkpoint as Checkpoint, answersTo(first.result))
  await vi.advanceTimersByTimeAsync(10)
  void run.cancel()
  const { result } = await settled(run)
  expect(result?.status).toBe('cancelled')
  const last = agentOf([respond(say('Done'))])
  const done = await played(last.agent.resume(result?.checkpoint as Checkpoint))
  expect(did).toEqual(['send 1', 'book 1 []', 'book 2 ["yes"]'])
  expect(textsOf(done.result)).toEqual(['Go', 'send done', 'booked: yes', 'Done'])
})

test('a call during a cancel after the model makes its inner calls, and is not repeated (K5, L7, H26)', async () => {
  const plan = tool({
    ...worker('plan', 'external'),
    async execute(_, { run }) {
      did.push('plan')
      await sleep(100)
      const { output } = await (run as Run).callTool({ type: 'tool-call', id: 'inner', name: 'send', input: {} })
      return output
    },
  })
  const tools = [plan, ...all]
  const { agent } = agentOf([respond(call('plan'), call('read', { ms: 300 }))], { tools })
  const run = agent.stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(50)
  void run.cancel({ at: 'after-model' })
  await vi.runAllTimersAsync()
  const { result } = await reading
  expect(result?.status).toBe('cancelled')
  const next = agentOf([respond(say('Done'))], { tools })
  const done = await played(next.agent.resume(result?.checkpoint as Checkpoint))
  expect(did).toEqual(['plan', 'read 1', 'send 1'])
  expect(textsOf(done.result)).toEqual(['Go', 'send done', 'read done', 'Done'])
})

test('a call that is still running although an inner call asks is cut off like any other, and not made again (L21, H26)', async () => {
  const plan = tool({
    name: 'plan',
    description: 'Plans, with or without a booking',
    input: anything,
    async execute(_, { run }) {
      did.push('plan')
      await run?.callTool({ type: 'tool-call', id: 'side', name: 'book', input: {} }).catch(() => undefined)
      await sleep(500)
    },
  })
  const tools = [plan, ...all]
  const run = agentOf([respond(call('plan'))], { tools }).agent.stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(50)
  void run.cancel()
  await vi.runAllTimersAsync()
  const { result } = await reading
  expect(result).toMatchObject({ status: 'cancelled' })
  const next = agentOf([respond(say('Done'))], { tools })
  const done = await played(next.agent.resume(result?.checkpoint as Checkpoint))
  expect(did).toEqual(['plan', 'book 1 []'])
  expect(done.result.unknown).toEqual(['call_1_1'])
})

test('a checkpoint contains the early calls: those that settled are joined, not repeated, and not undone by the stop (H27, O9)', async () => {
  const { checkpoints, id } = await killed([respond(call('read'), call('hold'), wait(100), say('late'))], 50, {
    middleware: [early],
  })
  const { agent } = agentOf([respond(call('read'), call('hold')), respond(say('Done'))], { checkpoints })
  const { result, events } = await played(agent.resume(id))
  // The abort of the run in this test undid it; a killed process could not.
  expect(did).toEqual([])
  expect(textsOf(result)).toEqual(['Go', 'read done', 'hold done', 'Done'])
  expect(events.flatMap((event) => ('callId' in event ? [event.type] : []))).toEqual([
    'tool-committed',
    'tool-end',
    'tool-committed',
    'tool-end',
  ])
})

test('a stop with a checkpoint undoes none of the early calls in it; a later discard does (H23, H27, H39)', async () => {
  let asks = true
  const asking: Middleware = {
    name: 'asking',
    async *wrapModel(request, next) {
      const message = yield* next(request)
      if (asks) throw interrupt('good?')
      return message
    },
  }
  const { agent } = agentOf([respond(call('hold'))], { middleware: [asking, early] })
  const first = await played(agent.stream('Go'))
  expect(did).toEqual(['hold 1'])
  expect(first.events.filter(({ type }) => type === 'tool-discarded')).toEqual([])
  asks = false
  const same = agentOf([respond(call('hold')), respond(say('Done'))], { middleware: [asking, early] })
  const joined = await played(same.agent.resume(first.checkpoint as Checkpoint, answersTo(first.result)))
  expect(did).toEqual(['hold 1'])
  expect(textsOf(joined.result)).toEqual(['Go', 'hold done', 'Done'])
  const other = agentOf([respond(say('Done'))], { middleware: [asking, early] })
  await played(other.agent.resume(first.checkpoint as Checkpoint, answersTo(first.result)))
  expect(did).toEqual(['hold 1', 'undid hold'])
})

test.each(['a', 'b'])(
  'if a cancelled response has two equal calls, each is made once, although %s was made early (H11, H27, K15)',
  async (made) => {
    const both = ['a', 'b'].map((id) => call('hold', {}, { id }))
    const first = agentOf([respond(...both, wait(100))], {
      middleware: [startingEarly({ only: ({ id }) => id === made })],
    })
    const run = first.agent.stream('Go')
    const reading = collect(run)
    await vi.advanceTimersByTimeAsync(50)
    void run.cancel({ at: 'after-model' })
    await vi.runAllTimersAsync()
    const { result } = await reading
    expect(result?.checkpoint?.calls).toMatchObject([{ id: made, fate: 'provisional', message: { callId: made } }])
    const { agent } = agentOf([respond(say('Done'))])
    const { result: resumed } = await played(agent.resume(result?.checkpoint as Checkpoint))
    expect(did).toEqual(['hold 1', 'hold 1'])
    expect(resumed.messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))).toEqual(['a', 'b'])
  },
)

test('an early call that was cut off is made again if it is a requested read, and is otherwise unknown (O9)', async () => {
  const responses = [respond(call('read', { ms: 500 }), call('put', { ms: 500 }), wait(100), say('late'))]
  const first = agentOf(responses, { middleware: [early] })
  const run = first.agent.stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(50)
  void run.cancel()
  await vi.runAllTimersAsync()
  const { result } = await reading
  expect(result?.status).toBe('cancelled')
  did = []
  const { agent } = agentOf([respond(call('read', { ms: 500 }), call('put', { ms: 500 })), respond(say('Done'))])
  const resumed = await played(agent.resume(result?.checkpoint as Checkpoint))
  expect(did).toEqual(['read 2'])
  expect(resumed.result.unknown).toEqual(['call_1_2_1'])
  expect(resumed.result.messages.filter(({ role }) => role === 'tool')).toMatchObject([
    { callId: 'call_1_1_1' },
    { callId: 'call_1_2_1', isError: true },
  ])
})

test('an early reversible call that was cut off and is not requested after the resume may have happened: a warning states that it is not undone (H23, O9)', async () => {
  const first = agentOf([respond(call('hold', { ms: 500 }), wait(100), say('late'))], { middleware: [early] })
  const run = first.agent.stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(50)
  void run.cancel()
  await vi.runAllTimersAsync()
  const { result } = await reading
  did = []
  const { agent } = agentOf([respond(say('Done'))], { middleware: [early] })
  const resumed = await played(agent.resume(result?.checkpoint as Checkpoint))
  expect(did).toEqual([])
  expect(textsOf(resumed.result)).toEqual(['Go', 'Done'])
  expect(resumed.result.warnings).toEqual([
    {
      code: 'compensation-failed',
      message:
        'hold: the call may have happened before the run was resumed; its output is unknown, so it is not undone',
      source: 'core',
    },
  ])
})

test('the question of an early call appears when the loop requests the call, at its normal address; if the call is discarded, it never appears (O7)', async () => {
  const { agent } = agentOf([respond(call('book'), say('wait'), wait(50)), respond(say('Done'))], {
    middleware: [early],
  })
  const first = await played(agent.stream('Go'))
  expect(first.result.interrupts).toMatchObject([
    { address: [{ agent: 'travel' }, { tool: 'book', callId: 'call_1_1' }] },
  ])
  const types = first.events.flatMap((event) => ('callId' in event ? [event.type] : []))
  expect(types).toEqual(['tool-start', 'tool-entered', 'tool-committed', 'question'])
  const second = await played(agent.resume(first.checkpoint as Checkpoint, answersTo(first.result)))
  expect(did).toEqual(['book 1 []', 'book 2 ["yes"]'])
  expect(textsOf(second.result)).toEqual(['Go', 'wait', 'booked: yes', 'Done'])
  expect(second.events.flatMap((event) => ('callId' in event ? [event.type] : []))).toEqual([
    'tool-start',
    'tool-entered',
    'tool-end',
  ])

  const unheard = agentOf([respond(call('book'), end({ finishReason: 'length' })), respond(say('Done'))], {
    middleware: [early],
  })
  expect((await played(unheard.agent.stream('Go'))).result).toMatchObject({ status: 'completed', text: 'Done' })
})

test('with one slot an early call that asks and is then discarded blocks no other call (O7, A22)', async () => {
  const { agent } = agentOf([respond(call('book'), call('send')), respond(say('Done'))], {
    middleware: [withdrawing('book'), early],
    toolConcurrency: 1,
  })
  const { result } = await played(agent.stream('Go'))
  expect(result).toMatchObject({ status: 'completed', text: 'Done' })
  expect(did).toEqual(['book 1 []', 'send 1'])

  did = []
  const kept = agentOf([respond(call('book'), call('send')), respond(say('Done'))], {
    middleware: [early],
    toolConcurrency: 1,
  })
  const first = await played(kept.agent.stream('Go'))
  expect(did).toEqual(['book 1 []'])
  const second = await played(kept.agent.resume(first.checkpoint as Checkpoint, answersTo(first.result)))
  expect(did).toEqual(['book 1 []', 'book 2 ["yes"]', 'send 1'])
  expect(second.result.status).toBe('completed')
})

test('open calls of a checkpoint are answered by their tools, even if a hook finds no result for them (O16)', async () => {
  const patch: Middleware = {
    name: 'patch',
    beforeModel: ({ messages }) => void did.push(`patch ${messages.length}`),
  }
  const { result, checkpoint } = await interrupted({ middleware: [patch] })
  const { agent } = agentOf([respond(say('Done'))], { middleware: [patch] })
  const done = await played(agent.resume(checkpoint, answersTo(result)))
  expect(did).toEqual(['patch 1', 'book 1 []', 'book 2 ["yes"]', 'patch 3'])
  expect(textsOf(done.result)).toEqual(['Go', 'booked: yes', 'Done'])
})

test('an answer that the gate has judged is not judged again, and one it has replaced stays replaced (L11, E7)', async () => {
  const gate: Middleware[] = [
    {
      name: 'first',
      beforeFinalAnswer: ({ messages }) => {
        const last = messages.at(-1)
        did.push('first')
        if (last?.role !== 'assistant') return
        return { accept: true, message: { ...last, content: [{ type: 'text', text: 'Better' }] } }
      },
    },
    {
      name: 'second',
      beforeFinalAnswer: (state, run) => {
        did.push(`second ${JSON.stringify(state.messages.at(-1)?.content)}`)
        if (run.answers.length === 0) throw interrupt('good?')
        return run.answers[0] === 'yes' ? undefined : { accept: false, feedback: 'No.' }
      },
    },
  ]
  const { agent, model } = agentOf([respond(say('Hm')), respond(say('Hm'))], { middleware: gate })
  const first = await played(agent.stream('Go'))
  const second = await played(agent.resume(first.checkpoint as Checkpoint, answersTo(first.result, 'no')))
  expect(second.result.status).toBe('interrupted')
  const third = await played(agent.resume(second.checkpoint as Checkpoint, answersTo(second.result)))
  const better = 'second [{"type":"text","text":"Better"}]'
  expect(did).toEqual(['first', better, better, 'first', better, better])
  expect(textsOf(third.result)).toEqual(['Go', 'Better', 'No.', 'Better'])
  expect(third.result).toMatchObject({ text: 'Better', steps: 2 })
  expect(model.requests).toHaveLength(2)
})

test('a direct result of a step that asked is the answer, also when the gate asks about it (L3, M7, E9)', async () => {
  const direct = tool({ ...worker('direct', 'read'), returnDirect: (output) => output === 'direct done' })
  const gate: Middleware = {
    name: 'gate',
    beforeFinalAnswer: (_, run) => {
      if (run.answers.length === 0) throw interrupt('good?')
    },
  }
  const { agent, model } = agentOf([respond(call('direct'), call('book'))], {
    tools: [direct, book],
    middleware: [gate],
  })
  let { result } = await played(agent.stream('Go'))
  for (const _ of [1, 2]) {
    expect(result.status).toBe('interrupted')
    ;({ result } = await played(agent.resume(result.checkpoint as Checkpoint, answersTo(result))))
  }
  expect(result).toMatchObject({ status: 'completed', stopReason: 'return-direct', text: 'direct done' })
  expect(did).toEqual(['direct 1', 'book 1 []', 'book 2 ["yes"]'])
  expect(model.requests).toHaveLength(1)
})

test('custom events are not part of a checkpoint (D6)', async () => {
  const { checkpoint } = await interrupted({
    middleware: [{ name: 'm', beforeModel: (_, run) => run.emit({ name: 'secret-event', data: 'secret-data' }) }],
  })
  expect(JSON.stringify(checkpoint)).not.toContain('secret')
})

test('sent messages that no step has read wait in the checkpoint (L11, K19)', async () => {
  const { agent } = agentOf([respond(call('book'), call('read', { ms: 50 })), respond(say('Done'))])
  const run = agent.stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(10)
  expect(run.send('And hurry')).toBe(true)
  await vi.runAllTimersAsync()
  const { result } = await reading
  expect(result?.checkpoint?.sent).toEqual([{ role: 'user', content: 'And hurry' }])
  const second = await played(agent.resume(result?.checkpoint as Checkpoint, result && answersTo(result)))
  expect(textsOf(second.result)).toEqual(['Go', 'booked: yes', 'read done', 'And hurry', 'Done'])
})

test('a store that cannot be read is a typed error (L16)', async () => {
  const broken: CheckpointStore = { ...memoryStore(), load: () => Promise.reject(new Error('disk')) }
  const { agent } = agentOf([], { checkpoints: broken })
  await expect(agent.resume('x').result).rejects.toMatchObject({
    name: 'CheckpointStoreError',
    id: 'x',
    operation: 'load',
    cause: expect.objectContaining({ message: 'disk' }),
  })
})
