import { getEventListeners } from 'node:events'
import { call, cut, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { propertyRuns, sized } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { nextTime, sleep } from '../../test/clock.ts'
import { early } from '../../test/early-calls.ts'
import { timedLog } from '../../test/timed-log.ts'
import { createAgent, type Middleware, type Run, runTool, type Tool, ToolBusyError, tool } from '../index.ts'

const { at, timeOf } = timedLog({ loopLimit: 1_000_000 })
const BUSY = 'Not run: work is already running 1 call, its maximum.'

/** A tool `work` with this limit, and a log of what starts and ends when. */
function limited(concurrency: NonNullable<Tool['concurrency']>, more: Omit<Partial<Tool>, 'needs'> = {}) {
  const log: string[] = []
  const work = tool({
    name: 'work',
    description: 'Takes its time.',
    input: z.object({ id: z.string(), ms: z.number() }),
    concurrency,
    async execute({ id, ms }) {
      log.push(`${at()} start ${id}`)
      await sleep(ms)
      log.push(`${at()} end ${id}`)
      return id
    },
    ...more,
  }) as Tool
  return { log, work }
}

const task = (id: string, ms: number) => call('work', { id, ms }, { id })

function running(responses: readonly ScriptResponse[], tools: readonly Tool[], more: object = {}) {
  return createAgent({ model: scriptedModel([...responses, respond(say('Done.'))]), tools, ...more }).stream('Go')
}

/** What the model read for each call. */
async function textsOf(run: ReturnType<typeof running>) {
  const { messages } = await run.result
  return messages.flatMap((message) =>
    message.role === 'tool' && message.content[0]?.type === 'text' ? [message.content[0].text] : [],
  )
}

test('with concurrency 5 the sixth call waits, in order of arrival (I7)', async () => {
  const { log, work } = limited(5)
  const tasks = [300, 100, 200, 400, 500, 10, 10, 10].map((ms, n) => task(`${n}`, ms))
  const run = running([respond(...tasks)], [work])
  await vi.runAllTimersAsync()
  expect(log).toEqual([
    '0 start 0',
    '0 start 1',
    '0 start 2',
    '0 start 3',
    '0 start 4',
    '100 end 1',
    '100 start 5',
    '110 end 5',
    '110 start 6',
    '120 end 6',
    '120 start 7',
    '130 end 7',
    '200 end 2',
    '300 end 0',
    '400 end 3',
    '500 end 4',
  ])
  expect(await textsOf(run)).toEqual(['0', '1', '2', '3', '4', '5', '6', '7'])
})

test('the limit applies to the tool object over all runs and stand-alone calls, in order of arrival (I7, MA8)', async () => {
  const { log, work } = limited(1)
  const first = running([respond(task('a', 100), task('b', 100))], [work])
  await vi.advanceTimersByTimeAsync(10)
  const second = running([respond(task('c', 100))], [work])
  await vi.advanceTimersByTimeAsync(10)
  const alone = runTool(work, { id: 'd', ms: 100 })
  await vi.advanceTimersByTimeAsync(10)
  const other = runTool({ ...work }, { id: 'e', ms: 100 })
  await vi.runAllTimersAsync()
  expect(log).toEqual([
    '0 start a',
    '30 start e',
    '100 end a',
    '100 start b',
    '130 end e',
    '200 end b',
    '200 start c',
    '300 end c',
    '300 start d',
    '400 end d',
  ])
  expect([await textsOf(first), await textsOf(second), await alone, await other]).toEqual([['a', 'b'], ['c'], 'd', 'e'])
})

test('a call that waits for its tool keeps no slot of its run from another (I7, H13)', async () => {
  const { log, work } = limited(1)
  const free = { ...work, name: 'free', concurrency: 9 }
  const other = call('free', { id: 'other', ms: 10 }, { id: 'other' })
  const run = running([respond(task('a', 100), task('b', 100), other)], [work, free], { toolConcurrency: 2 })
  await vi.runAllTimersAsync()
  await run.result
  expect(log).toEqual(['0 start a', '0 start other', '10 end other', '100 end a', '100 start b', '200 end b'])
})

test('a free slot of a tool goes to the first call whose run has a slot for it (I7, H13, MA8)', async () => {
  const { log, work } = limited(1)
  const free = { ...work, name: 'free', concurrency: 9 }
  const alone = runTool(work, { id: 'a', ms: 100 })
  const other = (id: string) => call('free', { id, ms: 500 }, { id })
  const narrow = running([respond(other('x'), task('b', 50), other('y'))], [work, free], { toolConcurrency: 2 })
  await vi.advanceTimersByTimeAsync(10)
  const wide = running([respond(task('c', 50))], [work])
  await vi.runAllTimersAsync()
  await Promise.all([alone, narrow.result, wide.result])
  expect(log).toEqual([
    '0 start a',
    '0 start x',
    '0 start y',
    '100 end a',
    '100 start c',
    '150 end c',
    '500 end x',
    '500 start b',
    '500 end y',
    '550 end b',
  ])
})

test('with toolConcurrency 1 and a limit a run keeps its call order (A22, I7)', async () => {
  const { log, work } = limited(1)
  const blocker = runTool(work, { id: 'blocker', ms: 100 })
  const free = { ...work, name: 'free', concurrency: 9 }
  const run = running([respond(task('a', 10), call('free', { id: 'b', ms: 10 }), task('c', 10))], [work, free], {
    toolConcurrency: 1,
  })
  await vi.runAllTimersAsync()
  await Promise.all([blocker, run.result])
  const order = ['blocker', 'a', 'b', 'c'].flatMap((id) => [`start ${id}`, `end ${id}`])
  expect(log.map((line) => line.replace(/^\d+ /, ''))).toEqual(order)
})

test('a call aborted while queued never starts, and leaves the queue to the next (I7, MA8)', async () => {
  const { log, work } = limited(1)
  const controller = new AbortController()
  const agent = createAgent({ model: scriptedModel([respond(task('a', 500), task('b', 100))]), tools: [work] })
  const aborted = agent.stream('Go', { signal: controller.signal })
  await vi.advanceTimersByTimeAsync(10)
  const cancelled = running([respond(task('c', 100))], [work])
  await vi.advanceTimersByTimeAsync(10)
  const last = runTool(work, { id: 'd', ms: 100 })
  await vi.advanceTimersByTimeAsync(50)
  expect(cancelled.toolStatus('c')).toEqual({ state: 'queued', cancelable: true })
  controller.abort()
  cancelled.cancelTool('c')
  await vi.runAllTimersAsync()
  expect(log).toEqual(['0 start a', '500 end a', '500 start d', '600 end d'])
  await expect(aborted.result).rejects.toMatchObject({ name: 'AbortError' })
  expect(await textsOf(cancelled)).toEqual(['Not run: the call was cancelled before it started.'])
  expect(await last).toBe('d')
})

test('a tool that calls itself works in its own slot (I7)', async () => {
  const nested = tool({
    name: 'nested',
    description: 'Calls itself',
    input: z.object({ depth: z.number() }),
    concurrency: 1,
    async execute({ depth }, { run, callId }): Promise<unknown> {
      if (depth === 0) return 'the bottom'
      const inner = { type: 'tool-call', id: `${callId}.`, name: 'nested', input: { depth: depth - 1 } } as const
      return (await (run as Run).callTool(inner)).output
    },
  })
  const run = running([respond(call('nested', { depth: 3 }, { id: 'a' }))], [nested as Tool])
  await vi.runAllTimersAsync()
  expect(await textsOf(run)).toEqual(['the bottom'])
})

test('with whenFull fail a call that finds no slot gets an error result at once, and does not run (I8)', async () => {
  const { log, work } = limited({ limit: 1, whenFull: 'fail' })
  const run = running([respond(task('a', 100), task('b', 100))], [work])
  await vi.advanceTimersByTimeAsync(0)
  expect(run.toolStatus('b')).toMatchObject({ state: 'error', endedAt: timeOf(0) })
  const alone = runTool(work, { id: 'c', ms: 100 })
  const thrown = await alone.result.catch((error: unknown) => error)
  expect(thrown).toBeInstanceOf(ToolBusyError)
  expect(thrown).toMatchObject({ tool: 'work', limit: 1, message: BUSY })
  await vi.runAllTimersAsync()
  expect(await textsOf(run)).toEqual(['a', BUSY])
  expect(log).toEqual(['0 start a', '100 end a'])
  const later = runTool(work, { id: 'd', ms: 100 })
  await vi.runAllTimersAsync()
  expect(await later).toBe('d')
})

test('with whenFull fail a call that waits for the slot of its run is not busy before it has that (I8)', async () => {
  const { work } = limited({ limit: 1, whenFull: 'fail' })
  const run = running([respond(task('a', 100), task('b', 100))], [work], { toolConcurrency: 1 })
  await vi.runAllTimersAsync()
  expect(await textsOf(run)).toEqual(['a', 'b'])
})

test('with whenFull fail a call that gets the slot of its run and finds no slot of its tool fails then (I8)', async () => {
  const { work } = limited({ limit: 1, whenFull: 'fail' })
  const run = running(
    [respond(call('free', { id: 'f', ms: 50 }, { id: 'f' }), task('b', 100))],
    [work, { ...work, name: 'free', concurrency: 9 }],
    { toolConcurrency: 1 },
  )
  const blocker = runTool(work, { id: 'blocker', ms: 100 })
  await vi.runAllTimersAsync()
  expect(await textsOf(run)).toEqual(['f', BUSY])
  await blocker
})

const numbered = z.object({ run: z.number(), n: z.number(), ms: z.number() })

test('whatever waits for which slots: no limit is exceeded, and no slot is idle while a call may start (I7, H13)', async () => {
  const durations = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 12 })
  const runs = fc.array(fc.record({ width: fc.integer({ min: 2, max: 4 }), durations }), { minLength: 1, maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), runs, async (limit, runs) => {
      const atWork = runs.map(() => 0)
      const left = runs.map(({ durations }) => durations.length)
      const order: string[] = []
      const work = tool({
        name: 'work',
        description: 'Takes its time.',
        input: numbered,
        concurrency: limit,
        async execute({ run, n, ms }) {
          atWork[run] = (atWork[run] ?? 0) + 1
          left[run] = (left[run] ?? 0) - 1
          order.push(`${run}.${n}`)
          await sleep(ms)
          atWork[run] = (atWork[run] ?? 0) - 1
        },
      }) as Tool
      const results = runs.map(({ width, durations }, run) => {
        const calls = durations.map((ms, n) => call('work', { run, n, ms }))
        return running([respond(...calls)], [work], { toolConcurrency: width }).result
      })
      while (left.some((count) => count > 0)) {
        await nextTime()
        const total = atWork.reduce((sum, count) => sum + count, 0)
        expect(total).toBeLessThanOrEqual(limit)
        for (const [run, { width }] of runs.entries()) {
          expect(atWork[run]).toBeLessThanOrEqual(width)
          const waits = (left[run] ?? 0) > 0 && (atWork[run] ?? 0) < width
          if (waits) expect(total).toBe(limit)
        }
      }
      await vi.runAllTimersAsync()
      await Promise.all(results)
      for (const [run, { durations }] of runs.entries())
        expect(order.filter((id) => id.startsWith(`${run}.`))).toEqual(durations.map((_, n) => `${run}.${n}`))
    }),
    {
      ...propertyRuns({ small: 20, middle: 30, whole: 20_000 }),
      // A slot of the tool comes free while the first execution that waits for it waits for a slot of its run.
      examples: [[3, [ones(8, 1), ones(2, 1), ones(8, 3)]]],
    },
  )
})

const ones = (count: number, first: number) => ({ width: 2, durations: [first, ...Array<number>(count - 1).fill(1)] })

test('an early call that finds no slot waits, and starts early if one comes free (O6)', async () => {
  const { log, work } = limited({ limit: 1, whenFull: 'fail' })
  const run = running([respond(task('a', 100), task('b', 100), wait(150))], [work], { middleware: [early] })
  await vi.runAllTimersAsync()
  expect(log).toEqual(['0 start a', '100 end a', '100 start b', '200 end b'])
  expect(await textsOf(run)).toEqual(['a', 'b'])
})

test('an early call that found no slot fails as busy when the loop requests it, not before (O6, MA8)', async () => {
  const { log, work } = limited({ limit: 1, whenFull: 'fail' })
  const run = running([respond(task('a', 500), task('b', 100), wait(150))], [work], { middleware: [early] })
  await vi.advanceTimersByTimeAsync(149)
  expect(run.toolStatus('b')).toEqual({ state: 'queued', cancelable: true })
  await vi.advanceTimersByTimeAsync(1)
  expect(run.toolStatus('b')).toMatchObject({ state: 'error', endedAt: timeOf(150) })
  await vi.runAllTimersAsync()
  expect(log).toEqual(['0 start a', '500 end a'])
  expect(await textsOf(run)).toEqual(['a', BUSY])
})

test('an early call that found no slot and whose response is not accepted is never made (O6)', async () => {
  const { log, work } = limited({ limit: 1, whenFull: 'fail' })
  const run = running([respond(task('a', 500), task('b', 100), wait(150), cut())], [work], { middleware: [early] })
  await vi.runAllTimersAsync()
  await expect(run.result).rejects.toMatchObject({ code: 'stream_truncated' })
  expect(log.filter((line) => line.includes('b'))).toEqual([])
})

/** Ends in the way its name describes. */
const ENDINGS: Record<string, (signal: AbortSignal) => unknown> = {
  value: () => 'done',
  slow: () => sleep(10),
  throws: () => {
    throw new Error('no luck')
  },
  rejects: () => sleep(5).then(() => Promise.reject(new Error('no luck'))),
  heeds: (signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
  deaf: () => new Promise(() => undefined),
  async *generator() {
    yield { progress: 0.5 }
    return 'done'
  },
  async *endless() {
    for (;;) {
      await sleep(3)
      yield { message: 'still here' }
    }
  },
}
const HOWS = Object.keys(ENDINGS)

const mixed = () =>
  tool({
    name: 'mixed',
    description: 'Ends in many ways',
    input: z.object({ how: z.string() }),
    concurrency: 7,
    timeout: 20,
    execute: ({ how }, { signal }) => ENDINGS[how]?.(signal),
  }) as Tool

/** Both slots of a limit are taken, and no third: so none was lost or freed twice. */
async function expectFree(tool: Tool, limit: number) {
  const held = Array.from({ length: limit + 1 }, () => runTool(tool, { how: 'heeds' }))
  await vi.advanceTimersByTimeAsync(0)
  expect(held.map((run) => run.status().state)).toEqual([...Array(limit).fill('running'), 'queued'])
  for (const run of held) run.cancel()
  await vi.advanceTimersByTimeAsync(0)
}

test.for(HOWS)('a slot is free again after a call that ends so: %s (I9)', async (how) => {
  const work = mixed()
  const alone = runTool(work, { how }, { grace: 30 })
  const run = running(
    [respond(...Array.from({ length: 20 }, (_, n) => call('mixed', { how }, { id: `${n}` })))],
    [work],
    {
      grace: 30,
    },
  )
  await vi.runAllTimersAsync()
  await alone.result.catch(() => undefined)
  await run.result
  await expectFree(work, 7)
})

test('an abandoned call frees its slot once, although it ends later (I9)', async () => {
  const { log, work } = limited(1)
  const deaf = runTool(work, { id: 'b', ms: 10_000 }, { grace: 100 })
  const next = runTool(work, { id: 'c', ms: 10_000 }, { grace: 100 })
  await vi.advanceTimersByTimeAsync(1)
  deaf.cancel()
  await vi.advanceTimersByTimeAsync(12_000)
  const last = runTool(work, { id: 'd', ms: 10 })
  await vi.advanceTimersByTimeAsync(1)
  expect(last.status().state).toBe('running')
  expect(await next).toBe('c')
  await vi.runAllTimersAsync()
  expect(log).toEqual(['0 start b', '101 start c', '10000 end b', '10101 end c', '12001 start d', '12011 end d'])
  const held = [runTool(work, { id: 'e', ms: 10 }), runTool(work, { id: 'f', ms: 10 })]
  await vi.advanceTimersByTimeAsync(1)
  expect(held.map((run) => run.status().state)).toEqual(['running', 'queued'])
})

test('between two tries of a call its slot is free for others (I9, C14)', async () => {
  const { log, work } = limited(1)
  const again: Middleware = {
    name: 'again',
    async *wrapToolCall(request, next) {
      yield* next(request)
      await sleep(50)
      return yield* next(request)
    },
  }
  const run = running([respond(task('a', 100), task('b', 100))], [work], { middleware: [again] })
  await vi.runAllTimersAsync()
  expect(await textsOf(run)).toEqual(['a', 'b'])
  expect(log.filter((line) => line.includes('start'))).toEqual([
    '0 start a',
    '100 start b',
    '200 start a',
    '300 start b',
  ])
})

test('a slot is free again after an abort, a cancel, and a wrap that returns (I9)', async () => {
  const work = { ...mixed(), timeout: 60_000 }
  const controller = new AbortController()
  const aborted = runTool(work, { how: 'deaf' }, { signal: controller.signal })
  const cancelled = runTool(work, { how: 'heeds' })
  const leaves: Middleware = {
    name: 'leaves',
    async *wrapToolCall(request, next) {
      for await (const _ of next(request)) break
      return { role: 'tool', callId: request.id, name: request.name, content: [{ type: 'text', text: 'left' }] }
    },
  }
  const run = running([respond(call('mixed', { how: 'endless' }))], [work], { middleware: [leaves] })
  await vi.advanceTimersByTimeAsync(100)
  controller.abort(new Error('enough'))
  cancelled.cancel()
  await vi.advanceTimersByTimeAsync(5_000)
  await expect(aborted).rejects.toThrow('enough')
  await expect(cancelled).rejects.toThrow('cancelled')
  expect(await textsOf(run)).toEqual(['left'])
  await expectFree(work, 7)
  expect(vi.getTimerCount()).toBe(0)
})

const RUNS = sized({ small: 100, middle: 150, whole: 50_000 })

test('after hundreds of mixed calls no slot, timer or listener is left (I9)', async () => {
  const work = mixed()
  const controllers = Array.from({ length: 100 }, () => new AbortController())
  const settled: Promise<unknown>[] = []
  for (let n = 0; n < RUNS; n++) {
    const { signal } = controllers[n % 100] as AbortController
    const run = runTool(work, { how: HOWS[n % HOWS.length] }, { signal, grace: 30 })
    if (n % 11 === 0) setTimeout(() => run.cancel(), n % 500)
    settled.push(run.result.catch(() => undefined))
  }
  for (let n = 0; n < RUNS / 50; n++) {
    const { signal } = controllers[n] as AbortController
    const calls = Array.from({ length: 50 }, (_, k) =>
      call('mixed', { how: HOWS[(n + k) % HOWS.length] }, { id: `${k}` }),
    )
    const agent = createAgent({
      model: scriptedModel([respond(...calls), respond(say('Done.'))]),
      tools: [work],
      grace: 30,
    })
    const run = agent.stream('Go', { signal })
    if (n % 3 === 0) setTimeout(() => run.cancelTool('7'), n)
    settled.push(run.result.catch(() => undefined))
  }
  for (const [n, controller] of controllers.entries()) if (n % 10 === 0) setTimeout(() => controller.abort(), n * 50)
  await vi.runAllTimersAsync()
  await Promise.all(settled)
  expect(vi.getTimerCount()).toBe(0)
  expect(controllers.flatMap(({ signal }) => getEventListeners(signal, 'abort'))).toEqual([])
  await expectFree(work, 7)
})
