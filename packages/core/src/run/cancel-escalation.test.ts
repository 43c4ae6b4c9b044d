import { collect, respond } from '@meanwhile/assemble/testing'
import { sleep } from '@meanwhile/tests/clock'
import { expect, test, vi } from 'vitest'
import { answer, at, cancelledRuns, ended, modelOf, named, start, toolOf } from '../../test/cancelled-runs.ts'
import { type CancelMode, CheckpointStoreError, createAgent, type Middleware } from '../index.ts'

const { log, work } = cancelledRuns()

test('a stronger call raises the mode, another changes nothing, none lowers it (K8)', async () => {
  const responses = [respond(...named('a', 'b')), answer]
  const options = { tools: [work('a', 100), work('b', 100)], toolConcurrency: 1 }
  const orders: [CancelMode[], CancelMode][] = [
    [['after-tools', 'after-model'], 'after-model'],
    [['after-model', 'after-tools'], 'after-model'],
    [['after-tools', 'now'], 'now'],
    [['now', 'after-model', 'after-tools'], 'now'],
    [['after-tools', 'after-tools'], 'after-tools'],
  ]
  for (const [modes, strongest] of orders) {
    log.length = 0
    const started = start(responses, options)
    await at(60)
    const given = modes.map((mode) => started.run.cancel({ at: mode }))
    const { result } = await ended(started)
    expect(result?.cancelled).toEqual({ at: strongest })
    expect(log).toHaveLength(strongest === 'after-tools' ? 2 : 1)
    expect(await Promise.all(given)).toEqual(modes.map(() => ({ status: 'cancelled' })))
  }
})

test('escalateAfter sets the mode to now, counted from its own call; of several the earliest counts (K9)', async () => {
  const responses = [respond(...named('a')), answer]
  const started = start(responses, { tools: [work('a', 10_000)] })
  await at(50)
  const cancelled = [started.run.cancel({ at: 'after-tools', escalateAfter: 900 })]
  await at(100)
  cancelled.push(started.run.cancel({ at: 'after-model', escalateAfter: 300 }))
  cancelled.push(started.run.cancel({ at: 'after-tools', escalateAfter: 700 }))
  await at(299)
  // The timer of the tool, and three limits.
  expect(vi.getTimerCount()).toBe(4)
  await at(1)
  const { result } = await ended(started)
  expect(result?.cancelled).toEqual({ at: 'now', escalated: true })
  expect(await Promise.all(cancelled)).toEqual(Array(3).fill({ status: 'cancelled' }))
})

test('a run that stops before its limit, or was already cancelled with now, is not escalated (K9)', async () => {
  const responses = [respond(...named('a')), answer]
  const options = { tools: [work('a', 100)] }
  const soon = start(responses, options)
  void soon.run.cancel({ at: 'after-tools', escalateAfter: 5_000 })
  expect((await ended(soon)).result?.cancelled).toEqual({ at: 'after-tools' })
  const now = start(responses, options)
  await at(50)
  void now.run.cancel({ at: 'after-tools', escalateAfter: 20 })
  await at(10)
  void now.run.cancel()
  expect((await ended(now)).result?.cancelled).toEqual({ at: 'now' })
})

test('a limit that passes while a run is stopping with now changes nothing, and one of a run that is over leaves no timer (K9)', async () => {
  const responses = [respond(...named('deaf')), answer]
  const deaf = toolOf('deaf', 'external', () => sleep(10_000))
  const stopping = start(responses, { tools: [deaf], grace: 300 })
  await at(50)
  void stopping.run.cancel({ at: 'after-tools', escalateAfter: 100 })
  await at(50)
  void stopping.run.cancel()
  expect((await ended(stopping)).result?.cancelled).toEqual({ at: 'now' })
  const over = start(responses, { tools: [work('deaf', 100)] })
  await at(50)
  void over.run.cancel({ at: 'after-tools', escalateAfter: 5_000 })
  await at(100)
  expect((await over.run.result).status).toBe('cancelled')
  expect(vi.getTimerCount()).toBe(0)
})

test.each(['by a time limit', 'by a call'])(
  'a run with a value that is not JSON is still stopped, %s, and fails with the reason (K4, K9, L16)',
  async (how) => {
    const tools = [work('slow', 500)]
    const big: Middleware = {
      name: 'big',
      async *wrapModel(request, next) {
        const message = yield* next(request)
        const content = message.content.map((part) => ({ ...part, providerMetadata: { p: { big: 1n } } }))
        return { ...message, content }
      },
    }
    const model = modelOf([respond(...named('slow'))])
    const run = createAgent({ model, tools, middleware: [big] }).stream('Go')
    const reading = collect(run)
    await at(100)
    const cancelling = run.cancel(how === 'by a call' ? {} : { at: 'after-tools', escalateAfter: 10 })
    await at(10)
    expect(await Promise.allSettled([cancelling, run.result])).toMatchObject([
      { status: 'fulfilled', value: { status: 'ended' } },
      { status: 'rejected', reason: { name: 'CheckpointStoreError', operation: 'take' } },
    ])
    expect((await reading).error).toBeInstanceOf(CheckpointStoreError)
    expect(log).toEqual(['slow 1 slow'])
  },
)
