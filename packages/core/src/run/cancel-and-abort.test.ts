import { respond, wait } from '@meanwhile/assemble/testing'
import { sleep } from '@meanwhile/tests/clock'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { answer, at, briefly, cancelledRuns, ended, modelOf, named, start, toolOf } from '../../test/cancelled-runs.ts'
import { early } from '../../test/early-calls.ts'
import { resultsIn } from '../../test/results.ts'
import { type Checkpoint, createAgent, type Middleware, memoryStore, RunAbortedError, tool } from '../index.ts'

const { log, work } = cancelledRuns()

test.each(['now', 'after-model', 'after-tools'] as const)(
  'an abort during a cancel %s replaces it, and nothing is saved after it (K11, K1)',
  async (mode) => {
    const store = memoryStore()
    const stubborn = toolOf('stubborn', 'read', () => sleep(700))
    const tools = [stubborn]
    const started = start([respond(...named('stubborn')), answer], { tools, checkpoints: store })
    await at(50)
    const cancelled = started.run.cancel({ at: mode })
    await at(100)
    const before = await store.load(started.run.id)
    started.controller.abort('enough')
    const { error, events } = await ended(started)
    expect(error).toBeInstanceOf(RunAbortedError)
    expect(await cancelled).toEqual({ status: 'aborted' })
    expect(await store.load(started.run.id)).toEqual(before)
    expect(before).toMatchObject({ status: 'running' })
    // The history of the error has a result for each call, and the reader saw it once.
    expect(resultsIn((error as RunAbortedError).messages)).toHaveLength(1)
    expect(briefly(events).filter((line) => line.startsWith('tool-end'))).toEqual(['tool-end stubborn'])
  },
)

test('calls that a cancel leaves to the resume are undone when an abort replaces it (K11, H23)', async () => {
  const hold = tool({
    name: 'hold',
    description: 'hold',
    input: z.object({}),
    effect: 'reversible',
    execute: () => void log.push('held'),
    compensate: () => void log.push('undone'),
  })
  const stubborn = toolOf('stubborn', 'read', () => new Promise((resolve) => setTimeout(resolve, 500)))
  const response = respond(...named('stubborn', 'hold'), wait(1_000))
  const started = start([response], { tools: [stubborn, hold], middleware: [early] })
  await at(100)
  void started.run.cancel()
  await at(100)
  expect(log).toEqual(['held'])
  started.controller.abort()
  const { error } = await ended(started)
  expect(error).toBeInstanceOf(RunAbortedError)
  expect(log).toEqual(['held', 'undone'])
})

test('an abort whose listener cancels undoes what it discards, like any abort (K11, H23)', async () => {
  const hold = tool({
    name: 'hold',
    description: 'hold',
    input: z.object({}),
    effect: 'reversible',
    execute: () => void log.push('held'),
    compensate: () => void log.push('undone'),
  })
  const response = respond(...named('hold'), wait(1_000))
  const cancelling: Middleware = {
    name: 'cancelling',
    beforeModel: (_, run) => run.signal.addEventListener('abort', () => void started.run.cancel()),
  }
  const started = start([response], { tools: [hold], middleware: [cancelling, early] })
  await at(100)
  started.controller.abort()
  const { error } = await ended(started)
  expect(error).toBeInstanceOf(RunAbortedError)
  expect(log).toEqual(['held', 'undone'])
})

test.each(['cancel', 'abort'])(
  'a run ends although a wrap ends it by %s in the turn in which an early call begins (K1, K4, H24)',
  async (how) => {
    const stopping: Middleware = {
      name: 'stopping',
      async *wrapToolCall(one, next) {
        if (how === 'cancel') void started.run.cancel()
        else started.controller.abort()
        return yield* next(one)
      },
    }
    const options = { tools: [work('send', 50)], middleware: [stopping, early] }
    const started = start([respond(...named('send'), wait(100))], options)
    const { result, error } = await ended(started)
    expect(result?.status ?? (error as Error).name).toBe(how === 'cancel' ? 'cancelled' : 'AbortError')
    expect(log).toEqual([])
  },
)

test('a reader that leaves during a cancel aborts the run (B10, K11)', async () => {
  const stubborn = toolOf('stubborn', 'read', () => sleep(700))
  const agent = createAgent({ model: modelOf([respond(...named('stubborn')), answer]), tools: [stubborn] })
  const run = agent.stream('Go')
  const iterator = run[Symbol.asyncIterator]()
  await iterator.next()
  await at(50)
  const cancelled = run.cancel()
  await at(10)
  const left = iterator.return?.()
  await vi.runAllTimersAsync()
  await left
  await expect(run.result).rejects.toBeInstanceOf(RunAbortedError)
  expect(await cancelled).toEqual({ status: 'aborted' })
})

test('what an aborted or cancelled run cuts off is not saved as a result (K1, K15)', async () => {
  const store = memoryStore()
  const tidy = toolOf('tidy', 'external', async ({ signal }) => {
    await sleep(500, signal).catch(() => undefined)
    throw new Error('cut short')
  })
  const started = start([respond(...named('tidy')), answer], { tools: [tidy], checkpoints: store })
  await at(50)
  const before = await store.load(started.run.id)
  started.controller.abort()
  await ended(started)
  expect(await store.load(started.run.id)).toEqual(before)
  expect((before as Checkpoint).calls).toMatchObject([{ id: 'tidy', effect: 'external' }])
})

test('a save that waits for the save before it when the run is aborted has the state from before the abort (K1, W33)', async () => {
  const store = memoryStore()
  const save = store.save.bind(store)
  const begun: number[] = []
  const settled: (readonly boolean[])[] = []
  store.save = async (...saved) => {
    begun.push(performance.now())
    settled.push((saved[1] as Checkpoint).calls.map(({ message }) => message !== undefined))
    await sleep(100)
    await save(...saved)
  }
  const tools = [work('a', 10, 'read'), work('b', 20, 'read'), work('c', 5_000, 'read')]
  const started = start([respond(...named('a', 'b', 'c')), answer], { tools, checkpoints: store })
  await at(95)
  const aborted = performance.now()
  started.controller.abort()
  await ended(started)
  expect(begun.filter((time) => time > aborted)).toHaveLength(1)
  expect(settled.at(-1)).toEqual([true, true, false])
})
