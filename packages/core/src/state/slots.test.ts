import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { callAgain } from '../../test/again.ts'
import { sleep } from '../../test/clock.ts'
import {
  AgentError,
  createAgent,
  interrupt,
  type Middleware,
  memoryStore,
  type Run,
  type Tool,
  tool,
} from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** A tool `work` that takes as long as its input states, and a log of what happens when. */
function setup() {
  const start = performance.now()
  const log: (readonly [what: string, id: string, at: number])[] = []
  const note = (what: string, id: string) => void log.push([what, id, performance.now() - start])
  const work = tool({
    name: 'work',
    description: 'Takes its time.',
    input: z.object({ ms: z.number(), fails: z.boolean().optional() }),
    async execute({ ms, fails }, { callId }) {
      note('start', callId)
      await sleep(ms)
      note(fails ? 'fail' : 'end', callId)
      if (fails) throw new Error('no luck')
      return callId
    },
  })
  return { log, note, work }
}

const task = (id: string, ms: number, fails?: true) => call('work', { ms, ...(fails && { fails }) }, { id })

async function run(
  calls: readonly ReturnType<typeof call>[],
  tools: readonly Tool[],
  toolConcurrency: number,
  middleware: readonly Middleware[] = [],
) {
  const model = scriptedModel([respond(...calls), respond(say('done'))])
  const running = createAgent({ model, tools, toolConcurrency, middleware }).run('Go')
  await vi.advanceTimersByTimeAsync(10_000)
  return running
}

test('with toolConcurrency 2 two calls execute at the same time, and the next starts when one has ended (A22)', async () => {
  const { log, work } = setup()
  const result = await run([task('a', 300), task('b', 100), task('c', 100), task('d', 50)], [work], 2)
  expect(log).toEqual([
    ['start', 'a', 0],
    ['start', 'b', 0],
    ['end', 'b', 100],
    ['start', 'c', 100],
    ['end', 'c', 200],
    ['start', 'd', 200],
    ['end', 'd', 250],
    ['end', 'a', 300],
  ])
  expect(result.messages.slice(2, 6)).toMatchObject(['a', 'b', 'c', 'd'].map((callId) => ({ callId, output: callId })))
})

test.for([1, 2, 3, 7])(
  'with toolConcurrency %d at most this many calls execute at the same time (A22)',
  async (limit) => {
    const { log, work } = setup()
    await run(
      Array.from({ length: 12 }, (_, i) => task(`t${i}`, ((i * 37) % 11) * 10 + 10)),
      [work],
      limit,
    )
    let atOnce = 0
    const counts = log.map(([what]) => (what === 'start' ? ++atOnce : atOnce--))
    expect(Math.max(...counts)).toBe(limit)
    expect(log.filter(([what]) => what === 'start').map(([, id]) => id)).toEqual(
      Array.from({ length: 12 }, (_, i) => `t${i}`),
    )
  },
)

test('with toolConcurrency 1 calls execute strictly one at a time, and a failed one stops none after it (A22)', async () => {
  const { log, work } = setup()
  const result = await run([task('a', 100), task('b', 50, true), task('c', 10)], [work], 1)
  expect(log).toEqual([
    ['start', 'a', 0],
    ['end', 'a', 100],
    ['start', 'b', 100],
    ['fail', 'b', 150],
    ['start', 'c', 150],
    ['end', 'c', 160],
  ])
  expect(result.messages.slice(2, 5)).toMatchObject([{ output: 'a' }, { isError: true }, { output: 'c' }])
})

test('with toolConcurrency 1 call order holds whatever reaches its slot first (A22)', async () => {
  const { log, work } = setup()
  const delays: Record<string, number> = { a: 200, b: 20, c: 0 }
  const late: Middleware = {
    name: 'late',
    async *wrapToolCall(call, next) {
      await sleep(delays[call.id] ?? 0)
      return yield* next(call)
    },
  }
  await run([task('a', 10), task('b', 10), task('c', 10)], [work], 1, [late])
  expect(log).toEqual([
    ['start', 'a', 200],
    ['end', 'a', 210],
    ['start', 'b', 210],
    ['end', 'b', 220],
    ['start', 'c', 220],
    ['end', 'c', 230],
  ])
})

test('with toolConcurrency 1 a call that never takes its slot blocks no other call (A22)', async () => {
  const { log, work } = setup()
  const cache: Middleware = {
    name: 'cache',
    async *wrapToolCall(call, next) {
      if (call.id === 'b') throw new Error('not this one')
      if (call.id !== 'a') return yield* next(call)
      return { role: 'tool', callId: call.id, name: call.name, content: [{ type: 'text', text: 'cached' }] }
    },
  }
  const calls = [task('a', 100), task('b', 100), call('nope', {}, { id: 'c' }), task('d', 10)]
  const result = await run(calls, [work], 1, [cache])
  expect(log).toEqual([
    ['start', 'd', 0],
    ['end', 'd', 10],
  ])
  expect(result.messages.slice(2, 6)).toMatchObject([
    { content: [{ text: 'cached' }] },
    { content: [{ text: 'not this one' }], isError: true },
    { name: 'nope', isError: true },
    { output: 'd' },
  ])
})

test('the slot is taken inside the wraps, just before the input check (A22)', async () => {
  const { log, note, work } = setup()
  const ms = z.number().overwrite((ms) => {
    note('check', String(ms))
    return ms
  })
  const checked = { ...work, input: z.object({ ms }) }
  const wrap: Middleware = {
    name: 'wrap',
    async *wrapToolCall(call, next) {
      note('in', call.id)
      return yield* next(call)
    },
  }
  await run([task('a', 100), task('b', 50)], [checked], 1, [wrap])
  expect(log).toEqual([
    ['in', 'a', 0],
    ['in', 'b', 0],
    ['check', '100', 0],
    ['start', 'a', 0],
    ['end', 'a', 100],
    ['check', '50', 100],
    ['start', 'b', 100],
    ['end', 'b', 150],
  ])
})

test('a second next takes a new slot, and the call keeps its place in the order (A22)', async () => {
  const { log, work } = setup()
  let tries = 0
  const flaky = {
    ...work,
    execute: (input: { ms: number }, context: Parameters<typeof work.execute>[1]) => {
      return work.execute({ ...input, fails: context.callId === 'a' && ++tries < 3 }, context)
    },
  }
  const retry: Middleware = {
    name: 'retry',
    async *wrapToolCall(call, next) {
      for (;;) {
        try {
          return yield* next(call)
        } catch {
          await sleep(5)
        }
      }
    },
  }
  await run([task('a', 10), task('b', 10)], [flaky], 1, [retry])
  expect(log).toEqual([
    ['start', 'a', 0],
    ['fail', 'a', 10],
    ['start', 'a', 15],
    ['fail', 'a', 25],
    ['start', 'a', 30],
    ['end', 'a', 40],
    ['start', 'b', 40],
    ['end', 'b', 50],
  ])
})

test('a call continues in its slot if a wrap catches the error that would have ended the run (A12, A22)', async () => {
  const { log, work } = setup()
  const fatal = {
    ...work,
    async execute(input: { ms: number }, context: Parameters<typeof work.execute>[1]) {
      await work.execute(input, context)
      if (context.attempt === 1 && context.callId === 'a') throw new AgentError('that was it')
      return context.callId
    },
  }
  await run([task('a', 10), task('b', 10)], [fatal], 1, [callAgain])
  expect(log).toEqual([
    ['start', 'a', 0],
    ['end', 'a', 10],
    ['start', 'a', 10],
    ['end', 'a', 20],
    ['start', 'b', 20],
    ['end', 'b', 30],
  ])
})

test('in the slot of a call that threw an error that ends the run nothing else starts, even if a wrap delays the error (A12)', async () => {
  const { log, work } = setup()
  const fatal = {
    ...work,
    async execute(input: { ms: number }, context: Parameters<typeof work.execute>[1]) {
      await work.execute(input, context)
      throw new AgentError('that was it')
    },
  }
  const holding: Middleware = {
    name: 'holding',
    async *wrapToolCall(call, next) {
      try {
        return yield* next(call)
      } catch (error) {
        await sleep(20)
        throw error
      }
    },
  }
  const running = run([task('a', 10), task('b', 300), task('c', 10)], [fatal], 2, [holding])
  await expect(running).rejects.toThrow('that was it')
  expect(log.filter(([what]) => what === 'start')).toEqual([
    ['start', 'a', 0],
    ['start', 'b', 0],
  ])
})

test('in the slot of a call whose write-ahead save fails nothing else starts (A12, L15)', async () => {
  const { log, work } = setup()
  const store = memoryStore()
  let isFull = false
  const write = tool({
    name: 'write',
    description: 'Is saved before it begins.',
    input: z.object({}).refine(async () => {
      await sleep(10)
      isFull = true
      return true
    }),
    execute: () => 'written',
  })
  const model = scriptedModel([respond(call('write'), task('b', 300), task('c', 10)), respond(say('done'))])
  const running = createAgent({
    model,
    tools: [write, { ...work, effect: 'read' }],
    toolConcurrency: 2,
    checkpoints: {
      ...store,
      save: (...given) => (isFull ? Promise.reject(new Error('the disk is full')) : store.save(...given)),
    },
  }).run('Go')
  const failed = running.catch((error: unknown) => error)
  await vi.advanceTimersByTimeAsync(10_000)
  expect(await failed).toMatchObject({ name: 'CheckpointStoreError' })
  expect(log).toEqual([
    ['start', 'b', 0],
    ['end', 'b', 300],
  ])
})

test('a toolConcurrency that beforeAgent sets applies to that run (A22)', async () => {
  const { log, work } = setup()
  const oneByOne: Middleware = { name: 'oneByOne', beforeAgent: (setup) => ({ ...setup, toolConcurrency: 1 }) }
  await run([task('a', 10), task('b', 10)], [work], 8, [oneByOne])
  expect(log).toEqual([
    ['start', 'a', 0],
    ['end', 'a', 10],
    ['start', 'b', 10],
    ['end', 'b', 20],
  ])
})

test('each run has its own limit (A22)', async () => {
  const { log, work } = setup()
  const model = scriptedModel([
    respond(task('a', 10), task('b', 10)),
    respond(task('c', 10), task('d', 10)),
    respond(say('done')),
    respond(say('done')),
  ])
  const agent = createAgent({ model, tools: [work], toolConcurrency: 1 })
  const running = Promise.all([agent.run('Go'), agent.run('Go')])
  await vi.advanceTimersByTimeAsync(100)
  await running
  expect(log.filter(([what]) => what === 'start')).toEqual([
    ['start', 'a', 0],
    ['start', 'c', 0],
    ['start', 'b', 10],
    ['start', 'd', 10],
  ])
})

test('inner calls of a tool work inside its slot (A22, A23)', async () => {
  const { log, work } = setup()
  const outer = tool({
    name: 'outer',
    description: 'Lets others work.',
    input: z.object({}),
    async execute(_, { run, callId }) {
      const ask = (id: string) =>
        (run as Run).callTool({ type: 'tool-call', id: `${callId}.${id}`, name: 'work', input: { ms: 10 } })
      const { output } = await ask('one')
      return output
    },
  })
  const calls = [call('outer', {}, { id: 'a' }), task('b', 10)]
  const result = await run(calls, [work, outer], 1)
  expect(log).toEqual([
    ['start', 'a.one', 0],
    ['end', 'a.one', 10],
    ['start', 'b', 10],
    ['end', 'b', 20],
  ])
  expect(result.messages.slice(2, 4)).toMatchObject([{ output: 'a.one' }, { output: 'b' }])
})

/** Leaves each execution after this many ms, except the last of this many. */
const leaving = (ms: number, times: number): Middleware => ({
  name: 'leaving',
  async *wrapToolCall(call, next) {
    for (let attempt = 1; attempt <= times; attempt++) {
      const flow = next(call)
      const late = sleep(ms).then(() => undefined)
      const step = await Promise.race([flow.next(), late])
      if (step?.done) return step.value
      await Promise.race([flow.return(undefined as never), sleep(1_000)])
    }
    return yield* next(call)
  },
})

test('an execution that is still running after its grace time when its wrap has left frees its slot, once (I9, C15)', async () => {
  const { log, work } = setup()
  let deaf = 2
  const hangs = tool({
    ...work,
    execute(input, context) {
      if (deaf-- > 0) return sleep(5_000).then(() => 'late')
      return work.execute(input, context)
    },
  })
  const result = await run([task('a', 50), task('b', 100)], [hangs as Tool], 1, [leaving(200, 2)])
  expect(result.text).toBe('done')
  // Twice 200 ms and a second of grace; the execution that the wrap left is awaited once more before its call ends.
  expect(log).toEqual([
    ['start', 'a', 2_400],
    ['end', 'a', 2_450],
    ['start', 'b', 3_450],
    ['end', 'b', 3_550],
  ])
})

test('with one slot the question of a call belongs to that call only, although the later calls end with it in their wraps (A22, L1)', async () => {
  const { work } = setup()
  const asks = tool({
    ...work,
    name: 'asks',
    execute() {
      throw interrupt('Well?')
    },
  })
  const around: Middleware = {
    name: 'around',
    async *wrapToolCall(call, next) {
      return yield* next(call)
    },
  }
  const calls = [call('asks', { ms: 0 }, { id: 'a' }), task('b', 50), task('c', 50)]
  const model = scriptedModel([respond(...calls), respond(say('done'))])
  const agent = createAgent({ model, tools: [asks as Tool, work as Tool], toolConcurrency: 1, middleware: [around] })
  const result = agent.run('Go')
  await vi.runAllTimersAsync()
  expect((await result).interrupts?.map(({ address }) => address)).toEqual([
    [{ agent: null }, { tool: 'asks', callId: 'a' }],
  ])
})
