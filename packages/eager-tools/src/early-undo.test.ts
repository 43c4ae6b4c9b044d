import { call, end, respond, say, wait } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { done, ran } from '../test/early-runs.ts'
import { after, workshop } from '../test/workshop.ts'

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

test('a discarded reversible call that succeeded is undone once, with its input and output, before the run ends (H23)', async () => {
  const undone: unknown[] = []
  const booked = workshop().make('book', 'reversible', {
    async compensate(input, output) {
      await after(50)
      undone.push([input, output])
    },
  })
  const script = respond(call('book', { n: 1 }, { id: 'c1', deltas: 1 }), wait(100), end({ finishReason: 'other' }))
  const { result, took } = await ran([script], { tools: [booked] })
  expect(undone).toEqual([[{ n: 1 }, 'book 1']])
  expect(took).toBe(150)
  expect(result?.warnings).toEqual([])
})

test('a reversible call that is committed, failed or never finished is not undone (H23)', async () => {
  const committed = respond(call('move', { n: 1 }, { deltas: 1 }), wait(100), say('So.'))
  expect((await ran([committed, done])).log).toEqual(['0 move 1'])

  const cutOff = respond(call('move', { n: 1, ms: 500 }, { deltas: 1 }), wait(100), end({ finishReason: 'other' }))
  const { log, result } = await ran([cutOff])
  expect(log).toEqual(['0 move 1', '100 move 1 aborted'])
  expect(result?.warnings).toEqual([])
})

test('a compensation that fails is a warning and changes nothing else (H23)', async () => {
  const booked = workshop().make('book', 'reversible', {
    compensate: () => {
      throw new Error('sold out')
    },
  })
  const script = respond(call('book', { n: 1 }, { deltas: 1 }), wait(100), end({ finishReason: 'length' }))
  const { result } = await ran([script, respond(wait(50), say('Done.'))], { tools: [booked] })
  expect(result?.text).toBe('Done.')
  expect(result?.warnings).toEqual([{ code: 'compensation-failed', message: 'book: sold out', source: 'core' }])
})
