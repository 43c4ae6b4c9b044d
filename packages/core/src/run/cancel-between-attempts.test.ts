import { fail, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { sleep } from '@meanwhile/tests/clock'
import { expect, test, vi } from 'vitest'
import { answer, at, brief, briefly, cancelledRuns, ended, resumed, start } from '../../test/cancelled-runs.ts'
import type { Middleware, Model } from '../index.ts'

cancelledRuns()

/** Retries a failed model call after this many milliseconds. */
const retrying = (waitMs: number): Middleware => ({
  name: 'retrying',
  async *wrapModel(request, next) {
    for (;;) {
      try {
        return yield* next(request)
      } catch (error) {
        if (error instanceof Error && error.name !== 'ModelError') throw error
        if (waitMs > 0) {
          yield { type: 'attempt-failed', error, next: 'retry', waitMs }
          await sleep(waitMs, request.signal)
        }
      }
    }
  },
})

/** Its first request fails after 20 ms, the others return the answer. */
function flaky(): Model & { asked: number } {
  return {
    provider: 'p',
    id: 'm',
    asked: 0,
    stream(request) {
      const response = this.asked++ === 0 ? respond(say('Al', { deltas: 1 }), wait(10), fail()) : answer
      return scriptedModel([response], { pace: { firstToken: 10, betweenTokens: 0 } }).stream(request)
    },
  }
}

test.each([
  ['now', 500],
  ['after-model', 500],
  ['after-tools', 500],
  ['after-model', 5],
  ['after-tools', 5],
] as const)(
  'a wait between attempts is a safe point for %s, requested at %i ms: its timer is cleared (K7, J8)',
  async (mode, moment) => {
    const model = flaky()
    const started = start([], { model, middleware: [retrying(1_000)] })
    await at(moment)
    const cancelled = started.run.cancel({ at: mode })
    await at(20)
    expect(vi.getTimerCount()).toBe(0)
    const { events, result } = await ended(started)
    expect(await cancelled).toEqual({ status: 'cancelled' })
    expect(model.asked).toBe(1)
    expect(result?.cancelled).toEqual({ at: mode })
    expect(brief(events)).toEqual([
      'run-start',
      'step-start 1',
      'attempt-start 1',
      'text-delta 1',
      'attempt-failed 1 retry',
      'run-end cancelled',
    ])
    const { events: later, result: final } = await resumed(started, result)
    expect(briefly(later)).toEqual([
      'run-start resumed',
      'step-start 1 resumed',
      'attempt-start 2',
      'message',
      'step-end 1',
      'run-end completed',
    ])
    expect(final?.messages).toEqual([{ role: 'user', content: 'Go' }, expect.objectContaining({ role: 'assistant' })])
  },
)

test('a wrap that retries at once is stopped between its attempts (K7)', async () => {
  let asked = 0
  const failing: Model = {
    provider: 'p',
    id: 'm',
    stream: (request) =>
      scriptedModel([++asked > 3 ? answer : respond(say('x', { deltas: 1 }), fail())], {
        pace: { firstToken: 10, betweenTokens: 10 },
      }).stream(request),
  }
  for (const mode of ['after-model', 'after-tools'] as const) {
    asked = 0
    const started = start([], { model: failing, middleware: [retrying(0)] })
    await at(15)
    expect(asked).toBe(2)
    void started.run.cancel({ at: mode })
    const { events, result } = await ended(started)
    expect(asked).toBe(2)
    expect(result?.status).toBe('cancelled')
    expect(briefly(events).slice(-3)).toEqual(['attempt-start 2', 'attempt-failed 2 none', 'run-end cancelled'])
    const { events: later, result: final } = await resumed(started, result)
    expect(briefly(later)[2]).toBe('attempt-start 3')
    expect(final?.text).toBe('All is done.')
  }
})

test('a running attempt after a failed parallel one is not a wait: it may be accepted (K5, K7)', async () => {
  const hedge: Middleware = {
    name: 'hedge',
    async *wrapModel(request, next) {
      const slow = next(request)
      const first = slow.next()
      const broken = next({ ...request, model: scriptedModel([respond(fail())]) })
      const error: unknown = await broken.next().catch((error: unknown) => error)
      yield { type: 'attempt-failed', error, next: 'retry' }
      await first
      return yield* slow
    },
  }
  const started = start([answer], { middleware: [hedge] })
  await at(5)
  const cancelled = started.run.cancel({ at: 'after-model' })
  const { result } = await ended(started)
  expect(result?.text).toBe('All is done.')
  expect(await cancelled).toEqual({ status: 'ended' })
})
