import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expectLinear } from '@meanwhile/tests/growth'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { AgentError, createAgent, interrupt, type Middleware, type Tool, type ToolContext, tool } from '../index.ts'

unhandledRejections()

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const input = z.object({
  ms: z.number().default(10),
  reads: z.array(z.string()).default([]),
  writes: z.array(z.string()).default([]),
})
type Input = z.infer<typeof input>

/** A tool `work` that names the keys in its input, and a tool `plain` that names none. */
function workshop(more: Partial<Tool<Input, unknown>> = {}) {
  const start = performance.now()
  const log: string[] = []
  const note = (what: string, id: string) => void log.push(`${Math.round(performance.now() - start)} ${what} ${id}`)
  const execute = async ({ ms }: Input, { callId }: ToolContext) => {
    note('start', callId)
    await sleep(ms)
    note('end', callId)
    return callId
  }
  const plain = tool<Input, unknown>({ name: 'plain', description: 'Names no key.', input, execute })
  const work: Tool<Input, unknown> = {
    ...plain,
    name: 'work',
    reads: ({ reads }) => reads,
    writes: ({ writes }) => writes,
    ...more,
  }
  return { log, note, tools: [work, plain] as Tool[] }
}

const at = (id: string, keys: Partial<Input>) => call('work', keys, { id })
const plainly = (id: string, ms = 10) => call('plain', { ms }, { id })

interface Options {
  readonly toolConcurrency?: number
  readonly middleware?: readonly Middleware[]
  readonly signal?: AbortSignal
  readonly grace?: number
}

async function run(calls: readonly ReturnType<typeof call>[], tools: readonly Tool[], options: Options = {}) {
  const { signal, ...rest } = options
  const model = scriptedModel([respond(...calls), respond(say('done'))])
  const running = createAgent({ model, tools, ...rest }).run('Go', signal && { signal })
  running.catch(() => undefined)
  await vi.runAllTimersAsync()
  return running
}

test('readers of a key overlap and a writer runs by itself, in call order (H14)', async () => {
  const { log, tools } = workshop()
  await run(
    [
      at('r1', { reads: ['a'] }),
      at('r2', { reads: ['a'], ms: 20 }),
      at('w3', { writes: ['a'] }),
      at('w4', { writes: ['a'] }),
      at('r5', { reads: ['a'] }),
      at('r6', { reads: ['a'] }),
    ],
    tools,
  )
  expect(log).toEqual([
    '0 start r1',
    '0 start r2',
    '10 end r1',
    '20 end r2',
    '20 start w3',
    '30 end w3',
    '30 start w4',
    '40 end w4',
    '40 start r5',
    '40 start r6',
    '50 end r5',
    '50 end r6',
  ])
})

test('a call that waits for its key holds no slot and blocks no later call (H13, H14)', async () => {
  const { log, tools } = workshop()
  const calls = [
    at('w1', { writes: ['a'], ms: 100 }),
    at('w2', { writes: ['a'] }),
    at('w3', { writes: ['b'], ms: 30 }),
    plainly('p4', 30),
    at('r5', { reads: ['c'] }),
  ]
  await run(calls, tools, { toolConcurrency: 2 })
  expect(log).toEqual([
    '0 start w1',
    '0 start w3',
    '30 end w3',
    '30 start p4',
    '60 end p4',
    '60 start r5',
    '70 end r5',
    '100 end w1',
    '100 start w2',
    '110 end w2',
  ])
})

test('with one slot calls run in call order, whatever they name (H14, A22)', async () => {
  const { log, tools } = workshop()
  await run([at('w1', { writes: ['a'] }), at('r2', { reads: ['a'] }), plainly('p3')], tools, { toolConcurrency: 1 })
  expect(log.filter((line) => line.includes('start'))).toEqual(['0 start w1', '10 start r2', '20 start p3'])
})

/** Lets each call continue to its slot only after a while. */
const delaying = (delays: Record<string, number>): Middleware => ({
  name: 'delaying',
  async *wrapToolCall(call, next) {
    await sleep(delays[call.id] ?? 0)
    return yield* next(call)
  },
})

test('while an earlier call may still name a key, a later one that names any key waits for it; others do not (H14)', async () => {
  const { log, tools } = workshop()
  const calls = [at('w1', { writes: ['a'] }), at('r2', { reads: ['a'] }), at('r3', { reads: ['b'] }), plainly('p4')]
  await run(calls, tools, { middleware: [delaying({ w1: 50 })], toolConcurrency: 2 })
  expect(log).toEqual([
    '0 start p4',
    '10 end p4',
    '50 start w1',
    '50 start r3',
    '60 end w1',
    '60 start r2',
    '60 end r3',
    '70 end r2',
  ])
})

test('no call waits for one whose tool names no keys (H14)', async () => {
  const { log, tools } = workshop()
  await run([plainly('p1'), at('w2', { writes: ['a'] })], tools, { middleware: [delaying({ p1: 50 })] })
  expect(log).toEqual(['0 start w2', '10 end w2', '50 start p1', '60 end p1'])
})

test('a call that never reaches its tool, or whose input is invalid, lets the next ones go (H14)', async () => {
  const { log, tools } = workshop()
  const guard: Middleware = {
    name: 'guard',
    async *wrapToolCall(call, next) {
      if (call.id !== 'w1') return yield* next(call)
      await sleep(30)
      return { role: 'tool', callId: call.id, name: call.name, content: [{ type: 'text', text: 'denied' }] }
    },
  }
  const invalid = call('work', { writes: 'a' }, { id: 'w2' })
  await run([at('w1', { writes: ['a'] }), invalid, at('r3', { reads: ['a'] })], tools, { middleware: [guard] })
  expect(log).toEqual(['30 start r3', '40 end r3'])
})

test('a call that is made again keeps its place, even if it then names other keys (H14)', async () => {
  const { log, tools } = workshop()
  let tries = 0
  const again: Middleware = {
    name: 'again',
    async *wrapToolCall(call, next) {
      const result = yield* next(call)
      if (call.id !== 'w1' || tries++ > 0) return result
      await sleep(5)
      return yield* next({ ...call, input: { writes: ['b'] } })
    },
  }
  await run([at('w1', { writes: ['a'] }), at('w2', { writes: ['b'], ms: 30 }), at('r3', { reads: ['a'] })], tools, {
    middleware: [again],
  })
  expect(log).toEqual([
    '0 start w1',
    '0 start w2',
    '10 end w1',
    '30 end w2',
    '30 start w1',
    '40 end w1',
    '40 start r3',
    '50 end r3',
  ])
})

test('an inner call works under the keys of its maker, and does not wait (H14, A22)', async () => {
  const { log, tools, note } = workshop()
  const outer = tool({
    name: 'outer',
    description: 'Lets others work.',
    input: z.object({}),
    writes: () => ['a'],
    async execute(_, { run, callId }) {
      note('start', callId)
      await run?.callTool({ type: 'tool-call', id: `${callId}.w`, name: 'work', input: { writes: ['a'] } })
    },
  })
  const calls = [call('outer', {}, { id: 'o1' }), at('r2', { reads: ['a'] })]
  await run(calls, [...tools, outer as Tool], { toolConcurrency: 2 })
  expect(log).toEqual(['0 start o1', '0 start o1.w', '10 end o1.w', '10 start r2', '20 end r2'])
})

test.for([
  [
    'throws',
    () => {
      throw new Error('no idea')
    },
    'no idea',
  ],
  ['gives no list', () => 'file:a' as never, 'resource keys must be a list of strings'],
  ['gives a promise', () => Promise.resolve(['a']) as never, 'resource keys must be a list of strings'],
  [
    'gives a promise that rejects',
    () => Promise.reject(new Error('nobody hears it')) as never,
    'resource keys must be a list of strings',
  ],
  ['gives a list of something else', () => ['a', 1] as never, 'resource keys must be a list of strings'],
] as const)(
  'a tool whose reads or writes %s has external calls without keys, with a warning (H4)',
  async ([, names, why]) => {
    for (const more of [{ reads: names }, { writes: names }]) {
      const { log, tools } = workshop(more)
      const { warnings, text } = await run([at('w1', { writes: ['a'] }), at('w2', { writes: ['a'] })], tools)
      expect(log).toEqual(['0 start w1', '0 start w2', '10 end w1', '10 end w2'])
      const warning = { code: 'effect-failed', message: `what work does: ${why}`, source: 'core' }
      expect({ warnings, text }).toEqual({ warnings: [warning, warning], text: 'done' })
    }
  },
)

test('an effect that is a promise counts as external, and its rejection need not be handled (H4)', async () => {
  const { log, tools } = workshop({ effect: () => Promise.reject(new Error('nobody hears it')) as never })
  const { text } = await run([at('w1', {})], tools)
  expect(log).toEqual(['0 start w1', '10 end w1'])
  expect(text).toBe('done')
})

test('a call aborted while it waits for its key never starts, and its result states that (H14, K14)', async () => {
  const { log, tools } = workshop()
  const abort = new AbortController()
  setTimeout(() => abort.abort(), 5)
  const running = run([at('w1', { writes: ['a'] }), at('w2', { writes: ['a'] })], tools, { signal: abort.signal })
  const error: unknown = await running.catch((error: unknown) => error)
  expect(log).toEqual(['0 start w1', '10 end w1'])
  const messages = error instanceof AgentError ? error.messages : []
  expect(messages?.slice(2)).toMatchObject([
    { callId: 'w1', output: 'w1' },
    { callId: 'w2', content: [{ text: 'Not run: the run ended before this call started.' }], isError: true },
  ])
})

test('a call that waits for the key of one that ends the run never starts (A12, H14)', async () => {
  const { log, tools } = workshop({
    async execute({ ms }, { callId }) {
      log.push(`start ${callId}`)
      await sleep(ms)
      throw new AgentError('that was it')
    },
  })
  await expect(run([at('w1', { writes: ['a'] }), at('w2', { writes: ['a'] })], tools)).rejects.toThrow('that was it')
  expect(log).toEqual(['start w1'])
})

test('a call that waits for several stays open when one of them stops, even while another is running (H14, L3)', async () => {
  const { log, note, tools } = workshop()
  const [work] = tools as [Tool, Tool]
  const asks = (input: unknown, context: ToolContext) => {
    if (context.callId === 'asks') throw interrupt('Well?')
    return work.execute?.(input, context)
  }
  const around: Middleware = {
    name: 'around',
    async *wrapToolCall(call, next) {
      try {
        return yield* next(call)
      } catch (error) {
        note(error instanceof Error ? error.name : '', call.id)
        throw error
      }
    },
  }
  const calls = [
    at('asks', { writes: ['a'] }),
    at('works', { writes: ['b'], ms: 100 }),
    at('behind', { writes: ['a', 'b'] }),
    at('after', { reads: ['b'] }),
  ]
  const result = await run(calls, [{ ...work, execute: asks }], { middleware: [around] })
  expect(log).toEqual(['0 start works', '0 Interrupt asks', '0 Interrupt behind', '0 Interrupt after', '100 end works'])
  expect(result.interrupts?.map(({ address }) => address.at(-1))).toEqual([{ tool: 'work', callId: 'asks' }])
})

test('hundreds of calls that share keys run one after another by key, without each being examined whenever one ends (H14)', () =>
  expectLinear(125, async (count) => {
    const world: Record<string, string[]> = {}
    const { tools } = workshop({
      async execute({ writes: [key = ''] }, { callId }) {
        world[key] = [...(world[key] ?? []), callId]
      },
    })
    const calls = Array.from({ length: count }, (_, n) => ({ id: `c${n}`, key: `k${n % 10}` }))
    await run(
      calls.map(({ id, key }) => at(id, { writes: [key] })),
      tools,
    )
    expect(world).toEqual(
      Object.fromEntries(
        calls.slice(0, 10).map(({ key }) => [key, calls.filter((one) => one.key === key).map(({ id }) => id)]),
      ),
    )
  }))

/** Random calls: what they name, how long they take, and when they reach their slot. */
const scripts = fc.record({
  calls: fc.array(
    fc.record({
      reads: fc.subarray(['a', 'b', 'c'], { maxLength: 2 }),
      writes: fc.subarray(['a', 'b', 'c'], { maxLength: 2 }),
      ms: fc.constantFrom(0, 5, 12, 30),
      delay: fc.constantFrom(0, 0, 0, 8, 25),
    }),
    { minLength: 1, maxLength: 8 },
  ),
  toolConcurrency: fc.constantFrom(1, 2, 3, 4, Number.POSITIVE_INFINITY),
})

test('reads see and writes leave what they would if the calls ran one after another, key by key (H14)', async () => {
  await fc.assert(
    fc.asyncProperty(scripts, async ({ calls, toolConcurrency }) => {
      const world: Record<string, string[]> = { a: [], b: [], c: [] }
      const { tools } = workshop({
        // A write takes as long as its call: begun at its start, done at its end.
        async execute({ ms, reads, writes }, { callId }) {
          const saw = reads.map((key) => world[key]?.join())
          for (const key of writes) world[key]?.push(`${callId}?`)
          await sleep(ms)
          for (const key of writes) world[key]?.splice(-1, 1, callId)
          return [saw, reads.map((key) => (writes.includes(key) ? undefined : world[key]?.join()))]
        },
      })
      const delays = Object.fromEntries(calls.map(({ delay }, n) => [`c${n}`, delay]))
      const { messages } = await run(
        calls.map(({ delay: _, ...keys }, n) => at(`c${n}`, keys)),
        tools,
        { toolConcurrency, middleware: [delaying(delays)] },
      )
      const left: Record<string, string[]> = { a: [], b: [], c: [] }
      const expected = calls.map(({ reads, writes }, n) => {
        const saw = reads.map((key) => left[key]?.join())
        for (const key of writes) left[key]?.push(`c${n}`)
        return [saw, reads.map((key, i) => (writes.includes(key) ? null : saw[i]))]
      })
      expect(messages.flatMap((message) => (message.role === 'tool' ? [message.output] : []))).toEqual(expected)
      expect(world).toEqual(left)
    }),
    propertyRuns({ small: 12, middle: 19, whole: 10_000 }),
  )
})

test('an abort starts nothing that had waited for what it aborts (K1, H14)', async () => {
  const { log, tools } = workshop()
  const controller = new AbortController()
  setTimeout(() => controller.abort(), 50)
  const calls = [at('a', { ms: 100, writes: ['1'] }), at('b', { writes: ['1', '2'] }), at('c', { writes: ['2'] })]
  await expect(run(calls, tools, { signal: controller.signal })).rejects.toThrow('aborted')
  expect(log).toEqual(['0 start a', '100 end a'])
})
