import { call, collect, cut, end, fail, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, type Tool, tool } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { done, ran } from '../test/early-runs.ts'
import { bare, toolOutline } from '../test/outline.ts'
import { after, input, workshop } from '../test/workshop.ts'

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

test('a finish reason that forbids calls commits nothing: early runs are discarded, and no call runs (H18, A17, A18)', async () => {
  for (const finishReason of ['length', 'content-filter', 'other'] as const) {
    const script = respond(
      call('look', { n: 1, ms: 500 }, { id: 'c1', deltas: 1 }),
      wait(100),
      call('send', { n: 2 }, { id: 'c2', deltas: 1 }),
      end({ finishReason }),
    )
    const { log, events, result } = await ran([script, done])
    expect(log).toEqual(['0 look 1', '100 look 1 aborted'])
    expect(toolOutline(events)).toEqual([
      'tool-start c1 provisional',
      'tool-discarded c1 stream_truncated',
      'tool-end c1 error',
      'tool-end c2 error',
    ])
    const waiting = await played(
      createAgent({ model: scriptedModel([script, done]), tools: workshop().tools }).run('Go'),
    )
    expect({ ...result, savings: undefined }).toEqual(waiting)
  }
})

test('a stream without an end commits nothing: its calls are discarded as truncated, and the error is the same as without eager tools (H18, H21)', async () => {
  const script = respond(call('look', { n: 1, ms: 500 }, { id: 'c1', deltas: 1 }), wait(100), cut())
  const { log, events, error } = await ran([script])
  expect(log).toEqual(['0 look 1', '100 look 1 aborted'])
  expect(toolOutline(events)).toEqual(['tool-start c1 provisional', 'tool-discarded c1 stream_truncated'])
  expect(error).toMatchObject({ name: 'ModelError', code: 'stream_truncated' })
})

test('if the stream fails finally, all its early calls are discarded and nothing more starts (H21)', async () => {
  const script = respond(
    call('look', { n: 1 }, { id: 'c1', deltas: 1 }),
    call('look', { n: 2, ms: 500 }, { id: 'c2', deltas: 1 }),
    call('send', { n: 3 }, { id: 'c3', deltas: 1 }),
    wait(100),
    fail({ status: 400, code: 'bad_request', message: 'no' }),
  )
  const { log, events, error, took } = await ran([script])
  expect(log).toEqual(['0 look 1', '0 look 2', '100 look 2 aborted'])
  expect(toolOutline(events)).toEqual([
    'tool-start c1 provisional',
    'tool-start c2 provisional',
    'tool-discarded c1 stream_error',
    'tool-discarded c2 stream_error',
  ])
  expect(error).toMatchObject({ name: 'ModelError', code: 'bad_request', status: 400, message: 'no' })
  expect(took).toBe(100)
  const waiting = await played(
    collect(createAgent({ model: scriptedModel([script]), tools: workshop().tools }).stream('Go')),
  )
  expect(bare(events).filter((event) => !('callId' in event))).toEqual(bare(waiting.events))
})

test('a check that is still running when the stream fails starts nothing (H21)', async () => {
  const { log } = workshop()
  const slow = tool({
    name: 'slow',
    description: 'Checks its input for long.',
    input: input.refine(() => after(200).then(() => true)),
    effect: 'read',
    execute: () => void log.push('slow'),
  })
  // The response fails at 100 ms, the repeat runs from 100 to 600; the check ends in between.
  const again: Middleware = {
    name: 'again',
    async *wrapModel(request, next) {
      try {
        return yield* next(request)
      } catch {
        return yield* next(request)
      }
    },
  }
  const { events } = await ran(
    [
      respond(call('slow', { n: 1 }, { id: 'c1', deltas: 1 }), wait(100), fail()),
      respond(wait(500), say('Nothing to be done.')),
    ],
    { tools: [slow as Tool], middleware: [again] },
  )
  expect(log).toEqual([])
  expect(toolOutline(events)).toEqual([])
})
