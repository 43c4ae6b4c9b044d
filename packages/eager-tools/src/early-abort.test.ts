import { call, collect, end, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { toolOutline } from '../test/outline.ts'
import { after, workshop } from '../test/workshop.ts'
import { eagerTools } from './index.ts'

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

test('an abort commits nothing more and discards every open early call (H24)', async () => {
  const { log, tools } = workshop()
  const model = scriptedModel([
    respond(
      call('look', { n: 1 }, { id: 'c1', deltas: 1 }),
      call('look', { n: 2, ms: 500 }, { id: 'c2', deltas: 1 }),
      wait(100),
      call('look', { n: 3 }, { id: 'c3', deltas: 1 }),
      say('So.'),
    ),
  ])
  const controller = new AbortController()
  const run = createAgent({ model, tools, middleware: [eagerTools()] }).stream('Go', { signal: controller.signal })
  const collected = collect(run)
  await vi.advanceTimersByTimeAsync(50)
  controller.abort(new Error('enough'))
  const { events, error } = await played(collected)
  expect(log).toEqual(['0 look 1', '0 look 2', '50 look 2 aborted'])
  expect(toolOutline(events)).toEqual([
    'tool-start c1 provisional',
    'tool-start c2 provisional',
    'tool-discarded c1 run_aborted',
    'tool-discarded c2 run_aborted',
  ])
  expect(error).toMatchObject({ name: 'AbortError', cause: new Error('enough') })
  expect(vi.getTimerCount()).toBe(0)
})

test('no repeat of an early tool starts after an abort or a discard (H24, O2)', async () => {
  const { log, tools } = workshop()
  const again: Middleware = {
    name: 'again',
    async *wrapToolCall(call, next) {
      for (;;) {
        try {
          return yield* next(call)
        } catch {
          await after(10)
        }
      }
    },
  }
  const model = scriptedModel([
    respond(call('look', { n: 1, ms: 500 }, { deltas: 1 }), wait(100), end({ finishReason: 'length' })),
    respond(call('look', { n: 2, ms: 500 }, { deltas: 1 }), wait(1_000), say('So.')),
  ])
  const controller = new AbortController()
  const agent = createAgent({ model, tools, middleware: [again, eagerTools()], grace: 50 })
  const collected = collect(agent.stream('Go', { signal: controller.signal }))
  await vi.advanceTimersByTimeAsync(200)
  controller.abort()
  await vi.advanceTimersByTimeAsync(500)
  expect((await collected).error).toMatchObject({ name: 'AbortError' })
  expect(log).toEqual(['0 look 1', '100 look 1 aborted', '100 look 2', '200 look 2 aborted'])
})
