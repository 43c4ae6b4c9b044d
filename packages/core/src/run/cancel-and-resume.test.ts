import { call, end, respond, say } from '@meanwhile/assemble/testing'
import { sleep } from '@meanwhile/tests/clock'
import { sized } from '@meanwhile/tests/size'
import { expect, test } from 'vitest'
import {
  answer,
  at,
  brief,
  cancelledRuns,
  ended,
  named,
  resumed,
  start,
  toolOf,
  undisturbed,
} from '../../test/cancelled-runs.ts'
import { early } from '../../test/early-calls.ts'
import type { AgentOptions } from '../index.ts'

const { work } = cancelledRuns()

test.each(['now', 'after-model', 'after-tools'] as const)(
  'cancel %s before the first event makes no request, and the resume makes them all (K11)',
  async (mode) => {
    const responses = [respond(...named('a')), answer]
    const options = { tools: [work('a', 10)] }
    const started = start(responses, options)
    const cancelled = started.run.cancel({ at: mode })
    const { events, result } = await ended(started)
    expect(await cancelled).toEqual({ status: 'cancelled' })
    expect(brief(events)).toEqual(['run-start', 'run-end cancelled'])
    expect(started.model.requests).toEqual([])
    const { result: final } = await resumed(started, result)
    expect(final?.messages).toEqual(await undisturbed(responses, options))
  },
)

test('a run that a refused call cancels while it is running reports the refusal once: the resume does (A17, B6, K4)', async () => {
  const hold = toolOf('hold', 'read', ({ signal }) => {
    signal.addEventListener('abort', () => void started.run.cancel(), { once: true })
    return sleep(100, signal)
  })
  const response = respond(...named('hold'), end({ finishReason: 'length' }))
  const started = start([response, answer], { tools: [hold], middleware: [early] })
  const first = await ended(started)
  expect(first.result?.status).toBe('cancelled')
  const second = await resumed(started, first.result)
  expect(second.result?.status).toBe('completed')
  const ends = [...first.events, ...second.events].filter(({ type }) => type === 'tool-end')
  expect(ends).toMatchObject([{ callId: 'hold' }])
})

/** Milliseconds between two moments of a cancel. */
const BETWEEN = sized({ small: 40, middle: 25, whole: 1 })

test('at whatever millisecond a run is cancelled, the resumed one has the transcript of the undisturbed run (K4, K5, K15)', {
  timeout: 60_000,
}, async () => {
  const responses = [
    respond(say('Let me see.'), ...named('a', 'b')),
    respond(...named('c'), call('a', {}, { id: 'a2', deltas: 1 })),
    answer,
  ]
  const options = (): Partial<AgentOptions> => ({
    tools: [work('a', 33, 'read'), work('b', 15, 'read'), work('c', 20, 'read')],
    toolConcurrency: 2,
    middleware: [
      { name: 'slow', beforeModel: () => sleep(5), afterModel: () => sleep(5), beforeFinalAnswer: () => sleep(5) },
    ],
  })
  const expected = await undisturbed(responses, options())
  for (const mode of ['now', 'after-model', 'after-tools'] as const) {
    for (let moment = 0; moment <= 260; moment += BETWEEN) {
      const started = start(responses, options())
      await at(moment)
      void started.run.cancel({ at: mode })
      const { result } = await ended(started)
      if (result?.status === 'completed') {
        expect(result.messages).toEqual(expected)
        continue
      }
      expect(result?.status).toBe('cancelled')
      const { result: final } = await resumed(started, result)
      expect(final?.messages).toEqual(expected)
      expect(final?.unknown).toBeUndefined()
    }
  }
})
