import { collect, respond } from '@meanwhile/assemble/testing'
import { sleep } from '@meanwhile/tests/clock'
import { expect, test, vi } from 'vitest'
import { answer, at, cancelledRuns, ended, named, resumed, start, undisturbed } from '../../test/cancelled-runs.ts'
import { CUT_OFF, NOT_STARTED, resultsIn } from '../../test/results.ts'
import { type Checkpoint, type Middleware, memoryStore, type RunAbortedError } from '../index.ts'

const { log, work } = cancelledRuns()

const hanging = (hook: 'beforeAgent' | 'beforeModel' | 'afterModel' | 'beforeFinalAnswer'): Middleware => ({
  name: 'hanging',
  async [hook](_: unknown, run: { signal: AbortSignal }) {
    if (first) await sleep(1_000, run.signal)
  },
})

let first = true

test.each(['beforeAgent', 'beforeModel', 'afterModel', 'beforeFinalAnswer'] as const)(
  'cancel now inside %s: the resume repeats that hook and no other (K4, L8)',
  async (hook) => {
    first = true
    const responses = [respond(...named('a')), answer]
    const before: Middleware = { name: 'before', beforeModel: () => void log.push('beforeModel') }
    const options = { tools: [work('a', 10)], middleware: [before, hanging(hook)] }
    const started = start(responses, options)
    await at(900)
    const cancelled = started.run.cancel()
    const { result } = await ended(started)
    expect(await cancelled).toEqual({ status: 'cancelled' })
    first = false
    const { result: final } = await resumed(started, result)
    expect(log.filter((line) => line === 'beforeModel')).toHaveLength(2)
    expect(log.filter((line) => line.startsWith('a '))).toHaveLength(1)
    expect(final?.messages).toEqual(await undisturbed(responses, options))
  },
)

test('an accepted answer is not requested again when wrapAgent is cancelled on its way out (K4, L11)', async () => {
  let judged = 0
  const last: Middleware = {
    name: 'last',
    beforeFinalAnswer: () => void judged++,
    async *wrapAgent(setup, next, run) {
      const result = yield* next(setup)
      if (judged < 2 && first) await sleep(1_000, run.signal)
      return result
    },
  }
  first = true
  const started = start([answer], { middleware: [last] })
  await at(500)
  const cancelled = started.run.cancel()
  const { result } = await ended(started)
  expect(await cancelled).toEqual({ status: 'cancelled' })
  first = false
  const { result: final } = await resumed(started, result)
  expect(final).toMatchObject({ status: 'completed', text: 'All is done.', steps: 1 })
  expect(started.model.requests).toEqual([0])
  expect(judged).toBe(1)
})

test('cancelled while it is loaded or set up, a resumed run has lost nothing of its checkpoint (K11, K15)', async () => {
  const responses = [respond(...named('quick', 'slow')), answer]
  const store = memoryStore()
  const load = store.load.bind(store)
  const slow: Middleware = { name: 'slow', beforeAgent: (_, run) => (first ? sleep(100, run.signal) : undefined) }
  const options = { tools: [work('quick', 10), work('slow', 100, 'read')], checkpoints: store, middleware: [slow] }
  first = false
  const started = start(responses, options)
  await at(80)
  void started.run.cancel()
  const { result } = await ended(started)
  expect(result?.checkpoint?.calls).toMatchObject([{ message: { callId: 'quick' } }, { effect: 'read' }])

  store.load = async (id) => {
    await sleep(100)
    return await load(id)
  }
  let revision = result?.checkpoint?.revision ?? 0
  let sent = 0
  for (const mode of ['now', 'after-model', 'after-tools'] as const) {
    for (const moment of [0, 50, 150]) {
      first = true
      const run = started.agent.resume(started.run.id)
      const reading = collect(run)
      await at(moment)
      expect(run.send('Wait')).toBe(true)
      const cancelled = run.cancel({ at: mode })
      await vi.runAllTimersAsync()
      if (mode === 'after-tools') {
        // The step in which it was stopped continues to its end.
        expect((await run.result).cancelled).toEqual({ at: mode })
        break
      }
      expect(await cancelled).toEqual({ status: 'cancelled' })
      const { checkpoint } = await run.result
      expect(checkpoint?.calls).toHaveLength(2)
      expect(checkpoint?.calls).toMatchObject([{ message: { callId: 'quick' } }, { effect: 'read' }])
      expect(checkpoint?.sent).toHaveLength(++sent)
      expect(checkpoint?.revision).toBeGreaterThan(revision)
      revision = checkpoint?.revision ?? 0
      await reading
    }
  }
  expect(log.filter((line) => line.startsWith('quick'))).toHaveLength(1)
})

test('stopped before it has restored its calls, a resumed run still knows which of them were made (K14, A24)', async () => {
  const slow: Middleware = { name: 'slow', beforeAgent: (_, run) => (first ? sleep(100, run.signal) : undefined) }
  const responses = [respond(...named('quick', 'slow', 'late')), answer]
  const tools = [work('quick', 10), work('slow', 100), work('late', 1)]
  first = false
  const started = start(responses, { tools, middleware: [slow], toolConcurrency: 2 })
  await at(65)
  const halted = started.run.cancel({ at: 'after-model' })
  await at(10)
  void started.run.cancel()
  const { result } = await ended(started)
  expect(await halted).toEqual({ status: 'cancelled' })
  const expected = [
    ['quick', 'quick done'],
    ['slow', CUT_OFF],
    ['late', NOT_STARTED],
  ]
  first = true
  const cancelled = started.agent.resume(result?.checkpoint as Checkpoint)
  const controller = new AbortController()
  const aborted = started.agent.resume(result?.checkpoint as Checkpoint, {}, { signal: controller.signal })
  const failing = aborted.result.catch((error: unknown) => error)
  await at(50)
  void cancelled.cancel()
  controller.abort()
  expect(resultsIn((await cancelled.result).messages)).toEqual(expected)
  expect(resultsIn(((await failing) as RunAbortedError).messages)).toEqual(expected)
})
