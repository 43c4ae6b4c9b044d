/** Slots of the run, limits of tools, resource keys and call order together. */

import { call, cut, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { nextTime, sleep } from '../../test/clock.ts'
import { timedLog } from '../../test/timed-log.ts'
import {
  createAgent,
  interrupt,
  type Middleware,
  ModelError,
  map,
  runTool,
  type Tool,
  type ToolContext,
  tool,
} from '../index.ts'

const { at } = timedLog({ loopLimit: 1_000_000 })

const input = z.object({
  ms: z.number().default(10),
  asks: z.boolean().default(false),
  reads: z.array(z.string()).default([]),
  writes: z.array(z.string()).default([]),
})
type Input = z.infer<typeof input>

/** A tool `free` without a limit, a tool `work` with this one, both naming the keys in their input, and a log of what starts and ends. */
function workshop(concurrency: NonNullable<Tool['concurrency']>) {
  const log: string[] = []
  const note = (what: string, id: string) => void log.push(`${at()} ${what} ${id}`)
  const free = tool<Input, unknown>({
    name: 'free',
    description: 'Takes its time.',
    input,
    reads: ({ reads }) => reads,
    writes: ({ writes }) => writes,
    async execute({ ms, asks }, { callId, answers, attempt }: ToolContext) {
      if (asks && answers.length === 0) throw interrupt('May I?')
      note(attempt === 1 ? 'start' : 'start again', callId)
      await sleep(ms)
      note('end', callId)
      return callId
    },
  }) as Tool
  const work: Tool = { ...free, name: 'work', concurrency }
  return { log, free, work, tools: [free, work] }
}

const freely = (id: string, keys: Partial<Input> = {}) => call('free', keys, { id })
const limited = (id: string, keys: Partial<Input> = {}) => call('work', keys, { id })

function running(calls: readonly ReturnType<typeof call>[], tools: readonly Tool[], more: object = {}) {
  return createAgent({ model: scriptedModel([respond(...calls), respond(say('Done.'))]), tools, ...more }).stream('Go')
}

async function textsOf(run: ReturnType<typeof running>) {
  const { messages } = await run.result
  return messages.flatMap((message) =>
    message.role === 'tool' && message.content[0]?.type === 'text' ? [message.content[0].text] : [],
  )
}

test('a call that waits for its key holds neither a slot of its run nor of its tool (H13, H14, I7)', async () => {
  const { log, tools } = workshop(1)
  const calls = [freely('w1', { writes: ['a'], ms: 100 }), limited('w2', { writes: ['a'] }), limited('w3')]
  const run = running(calls, tools, { toolConcurrency: 2 })
  await vi.runAllTimersAsync()
  await run.result
  expect(log).toEqual(['0 start w1', '0 start w3', '10 end w3', '100 end w1', '100 start w2', '110 end w2'])
})

test('a call that waits for its tool keeps its place before those that name its key, and no slot (H13, H14, I7)', async () => {
  const { log, tools, work } = workshop(1)
  const blocker = runTool(work, { ms: 50 })
  const calls = [limited('w1', { writes: ['a'] }), freely('r2', { reads: ['a'] }), freely('r3', { reads: ['b'] })]
  const run = running(calls, tools, { toolConcurrency: 2 })
  await vi.runAllTimersAsync()
  await Promise.all([run.result, blocker])
  expect(log.slice(1)).toEqual([
    '0 start r3',
    '10 end r3',
    `50 end ${blocker.callId}`,
    '50 start w1',
    '60 end w1',
    '60 start r2',
    '70 end r2',
  ])
})

test('with whenFull fail a call that waits for its key is not busy before it has that (I8, H14)', async () => {
  const { log, tools, work } = workshop({ limit: 1, whenFull: 'fail' })
  const blocker = runTool(work, { ms: 30 })
  const calls = [freely('w1', { writes: ['a'], ms: 50 }), limited('w2', { writes: ['a'] })]
  const run = running(calls, tools)
  await vi.runAllTimersAsync()
  await blocker
  expect(await textsOf(run)).toEqual(['w1', 'w2'])
  expect(log.slice(-2)).toEqual(['50 start w2', '60 end w2'])
})

test('with whenFull fail a call that is busy releases its key (I8, H14)', async () => {
  const { log, tools, work } = workshop({ limit: 1, whenFull: 'fail' })
  const blocker = runTool(work, { ms: 100 })
  const calls = [
    freely('w1', { writes: ['a'], ms: 50 }),
    limited('w2', { writes: ['a'] }),
    freely('r3', { reads: ['a'] }),
  ]
  const run = running(calls, tools)
  await vi.runAllTimersAsync()
  await blocker
  expect(await textsOf(run)).toEqual(['w1', 'Not run: work is already running 1 call, its maximum.', 'r3'])
  expect(log.slice(2, 4)).toEqual(['50 end w1', '50 start r3'])
})

test('runs that want the same tools in opposite order do not wait for each other in a circle (A22, I7, H14)', async () => {
  const { log, free, work } = workshop(1)
  const other: Tool = { ...free, name: 'other', concurrency: 1 }
  const on = (name: string, id: string) => call(name, { writes: ['a'], ms: 10 }, { id })
  const runs = [1, 2].flatMap((toolConcurrency) => [
    running([on('work', 'a'), on('other', 'b')], [work, other], { toolConcurrency }),
    running([on('other', 'c'), on('work', 'd')], [work, other], { toolConcurrency }),
  ])
  await vi.runAllTimersAsync()
  await Promise.all(runs.map((run) => run.result))
  expect(log.filter((line) => line.includes('end'))).toHaveLength(8)
})

test('an open question blocks calls that name its key, and no others; after the resume they run in call order (C14, H14, L3)', async () => {
  const { log, tools } = workshop(1)
  const calls = [
    freely('w1', { writes: ['a'], asks: true }),
    limited('r2', { reads: ['a'] }),
    limited('r3', { reads: ['b'], ms: 20 }),
  ]
  const agent = createAgent({ model: scriptedModel([respond(...calls), respond(say('Done.'))]), tools })
  const asked = agent.run('Go')
  await vi.runAllTimersAsync()
  const { status, checkpoint, interrupts = [] } = await asked
  expect({ status, payloads: interrupts.map(({ payload }) => payload), log }).toEqual({
    status: 'interrupted',
    payloads: ['May I?'],
    log: ['0 start r3', '20 end r3'],
  })
  const resumed = agent.resume(checkpoint ?? '', { [interrupts[0]?.id ?? '']: true })
  await vi.runAllTimersAsync()
  expect((await resumed.result).text).toBe('Done.')
  expect(log.slice(2)).toEqual(['20 start again w1', '30 end w1', '30 start r2', '40 end r2'])
})

/** Makes each call as soon as it has arrived, and the model call again when it breaks off. */
const eager: Middleware = {
  name: 'eager',
  async *wrapModel(request, next, run) {
    for (let left = 1; ; left--) {
      try {
        return yield* map(next(request), (event) => {
          if (event.type === 'tool-call') run.callTool(event.call).catch(() => undefined)
          return event
        })
      } catch (error) {
        if (left === 0 || !(error instanceof ModelError)) throw error
      }
    }
  },
}

test.for([
  ['one slot', { toolConcurrency: 1 }],
  ['one key', {}],
] as const)('a question that is never emitted blocks nothing: %s (A22, H14, L3)', async ([, more]) => {
  const { log, tools } = workshop(1)
  const responses: ScriptResponse[] = [
    respond(freely('w1', { writes: ['a'], asks: true }), freely('r2', { reads: ['a'] }), wait(20), cut()),
    respond(freely('r3', { reads: ['a'] }), wait(20)),
    respond(say('Done.')),
  ]
  const agent = createAgent({ model: scriptedModel(responses), tools, middleware: [eager], ...more })
  const run = agent.stream('Go')
  await vi.runAllTimersAsync()
  expect(await textsOf(run)).toEqual(['r2'])
  expect(log).toEqual(['20 start r2', '30 end r2'])
})

test('an early call that waits for an open question stays open when that is committed (A22, L3)', async () => {
  const { log, tools } = workshop(1)
  const calls = [freely('w1', { asks: true }), freely('r2')]
  const model = scriptedModel([respond(...calls, wait(20)), respond(say('Done.'))])
  const run = createAgent({ model, tools, middleware: [eager], toolConcurrency: 1 }).stream('Go')
  await vi.runAllTimersAsync()
  expect(await run.result).toMatchObject({ status: 'interrupted', interrupts: [{ payload: 'May I?' }] })
  expect(log).toEqual([])
})

/** Tools with these limits, and runs that call them; what fails, is cancelled, or ends a run from outside. */
const worlds = fc.record({
  limits: fc.array(fc.constantFrom(1, 2, undefined), { minLength: 1, maxLength: 3 }),
  runs: fc.array(
    fc.record({
      width: fc.constantFrom(1, 2, 3, Number.POSITIVE_INFINITY),
      abortAt: fc.option(fc.integer({ min: 0, max: 60 }), { freq: 4, nil: undefined }),
      calls: fc.array(
        fc.record({
          tool: fc.nat(2),
          ms: fc.integer({ min: 1, max: 20 }),
          reads: fc.subarray(['a', 'b'], { maxLength: 1 }),
          writes: fc.subarray(['a', 'b', 'c'], { maxLength: 2 }),
          throws: fc.boolean(),
          twice: fc.boolean(),
          cancelAt: fc.option(fc.integer({ min: 0, max: 60 }), { freq: 4, nil: undefined }),
        }),
        { minLength: 1, maxLength: 7 },
      ),
    }),
    { minLength: 1, maxLength: 3 },
  ),
})

const worked = z.looseObject({ run: z.number(), n: z.number(), ms: z.number(), throws: z.boolean() })

interface Work {
  readonly run: number
  readonly n: number
  readonly tool: number
  readonly reads: readonly string[]
  readonly writes: readonly string[]
}

function clash(one: Work, other: Work): boolean {
  const meet = (some: readonly string[], others: readonly string[]) => some.some((key) => others.includes(key))
  return meet(one.writes, other.writes) || meet(one.writes, other.reads) || meet(one.reads, other.writes)
}

/** Executes once more what has been executed, and only that. */
const again: Middleware = {
  name: 'again',
  async *wrapToolCall(request, next) {
    const result = yield* next(request)
    return (request.input as { twice: boolean }).twice ? yield* next(request) : result
  },
}

test('whatever names, limits, fails and ends what: all rules hold, no slot is idle, and nothing waits forever (A22, H13, H14, I7)', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async ({ limits, runs }) => {
      const atWork = new Set<Work>()
      const broken: Work[] = []
      const worksOf = runs.map(({ calls }, run) =>
        calls.map(({ tool, reads, writes }, n): Work => ({ run, n, tool: tool % limits.length, reads, writes })),
      )
      const begun = runs.map(() => [] as number[])
      const isFree = (work: Work) => {
        const { run, tool } = work
        const others = [...atWork]
        const beside = others.filter((other) => other.run === run)
        return (
          others.filter((other) => other.tool === tool).length < (limits[tool] ?? Number.POSITIVE_INFINITY) &&
          beside.length < (runs[run]?.width ?? 0) &&
          !beside.some((other) => other !== work && clash(work, other))
        )
      }
      const tools = limits.map((limit, index) =>
        tool({
          name: `tool${index}`,
          description: 'Takes its time.',
          input: worked,
          ...(limit && { concurrency: limit }),
          reads: (input) => input.reads as string[],
          writes: (input) => input.writes as string[],
          async execute({ run, n, ms, throws }) {
            const work = worksOf[run]?.[n] as Work
            if (!isFree(work)) broken.push(work)
            atWork.add(work)
            begun[run]?.push(n)
            await sleep(ms)
            atWork.delete(work)
            if (throws) throw new Error('no luck')
          },
        }),
      ) as Tool[]
      const streams = runs.map(({ width, abortAt, calls }, run) => {
        const controller = new AbortController()
        const model = scriptedModel([
          respond(
            ...calls.map((one, n) => call(`tool${one.tool % limits.length}`, { ...one, run, n }, { id: `${n}` })),
          ),
          respond(say('Done.')),
        ])
        const agent = createAgent({ model, tools, toolConcurrency: width, middleware: [again] })
        const stream = agent.stream('Go', { signal: controller.signal })
        stream.result.catch(() => undefined)
        if (abortAt !== undefined) setTimeout(() => controller.abort(), abortAt + 0.5)
        for (const [n, { cancelAt }] of calls.entries())
          if (cancelAt !== undefined) setTimeout(() => stream.cancelTool(`${n}`), cancelAt + 0.5)
        return stream
      })
      const isOver = ({ run, n }: Work) => streams[run]?.toolStatus(`${n}`)?.endedAt !== undefined
      const inFront = ({ run, n }: Work) => (worksOf[run] ?? []).slice(0, n).filter((other) => !isOver(other))
      do {
        await nextTime()
        for (const work of worksOf.flat()) {
          const waits = !isOver(work) && !atWork.has(work)
          const mayGo = inFront(work).every((other) => runs[work.run]?.width !== 1 && !clash(work, other))
          if (waits && mayGo) expect(isFree(work)).toBe(false)
        }
      } while (vi.getTimerCount() > 0)
      const ends = await Promise.allSettled(streams.map((stream) => stream.result))
      for (const [run, { width, abortAt, calls }] of runs.entries()) {
        const order = begun[run] ?? []
        if (width === 1) expect(order).toEqual(order.toSorted((a, b) => a - b))
        if (abortAt !== undefined) continue
        expect(ends[run]?.status).toBe('fulfilled')
        for (const [n, { throws, twice, cancelAt }] of calls.entries())
          if (cancelAt === undefined) expect(order.filter((one) => one === n)).toHaveLength(twice && !throws ? 2 : 1)
      }
      expect([broken, atWork.size, vi.getTimerCount()]).toEqual([[], 0, 0])
    }),
    propertyRuns({ small: 6, middle: 15, whole: 10_000 }),
  )
})
