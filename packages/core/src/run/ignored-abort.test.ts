import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { forever, quick, toolOf, watch } from '../../test/aborted-runs.ts'
import { CUT_OFF, resultsIn } from '../../test/results.ts'
import { type AgentOptions, createAgent, RunAbortedError } from '../index.ts'

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

test('the run does not wait for a model that ignores its signal (K1)', async () => {
  const controller = new AbortController()
  const agent = createAgent({ model: { provider: 'own', id: 'own-1', stream: stuckStream } })
  const seen = watch(agent.run('Go', { signal: controller.signal }))
  await vi.advanceTimersByTimeAsync(100)
  controller.abort()
  await vi.advanceTimersByTimeAsync(0)
  expect(seen).toMatchObject({ at: 100, error: { name: 'AbortError' } })
})

const stubborn: readonly (readonly [string, Partial<AgentOptions>])[] = [
  ['a model', { model: { provider: 'own', id: 'own-1', stream: stuckStream } }],
  ['beforeAgent', { middleware: [{ name: 'stuck', beforeAgent: forever }] }],
  ['beforeModel', { middleware: [{ name: 'stuck', beforeModel: forever }] }],
  ['afterModel', { middleware: [{ name: 'stuck', afterModel: forever }] }],
  ['beforeFinalAnswer', { middleware: [{ name: 'stuck', beforeFinalAnswer: forever }] }],
  ['wrapModel', { middleware: [{ name: 'stuck', wrapModel: stuckStream }] }],
  ['wrapAgent', { middleware: [{ name: 'stuck', wrapAgent: stuckStream }] }],
  [
    'the cleanup of a wrap',
    {
      middleware: [
        {
          name: 'stuck',
          async *wrapModel(request, next) {
            try {
              return yield* next({ ...request, messages: [...request.messages] })
            } finally {
              await forever()
            }
          },
        },
      ],
    },
  ],
]

async function* stuckStream(): AsyncGenerator<never, never, undefined> {
  yield await forever()
  return await forever()
}

test.for(stubborn)(
  '%s that ignores an abort delays the run no longer than the grace time (K1)',
  async ([, options]) => {
    const controller = new AbortController()
    const model = scriptedModel([respond(say('done'))])
    const run = createAgent({ model, grace: 300, ...options }).stream('Go', { signal: controller.signal })
    const seen = watch(run.result)
    await vi.advanceTimersByTimeAsync(100)
    expect(seen).toEqual({})
    controller.abort('enough')
    await vi.advanceTimersByTimeAsync(301)
    expect(seen.error).toBeInstanceOf(RunAbortedError)
    expect(seen.error).toMatchObject({ cause: 'enough', usage: {} })
    expect(vi.getTimerCount()).toBe(0)
  },
)

test('a tool that ignores its signal has the grace time, then is abandoned (K12)', async () => {
  const controller = new AbortController()
  const deaf = toolOf('deaf', forever)
  const calls = [call('deaf', {}, { id: 'one' }), call('quick', {}, { id: 'two' }), call('deaf', {}, { id: 'three' })]
  const agent = createAgent({ model: scriptedModel([respond(...calls)]), tools: [deaf, quick] })
  const seen = watch(agent.run('Go', { signal: controller.signal }))
  await vi.advanceTimersByTimeAsync(500)
  controller.abort()
  await vi.advanceTimersByTimeAsync(999)
  expect(seen).toEqual({})
  await vi.advanceTimersByTimeAsync(1)
  expect(seen).toMatchObject({ at: 1_500, error: { name: 'AbortError', abandoned: ['one', 'three'] } })
  expect(resultsIn((seen.error as RunAbortedError).messages)).toEqual([
    ['one', CUT_OFF],
    ['two', 'done'],
    ['three', CUT_OFF],
  ])
})

test('the grace time is an option of the agent, and with 0 the run waits for nothing (K12)', async () => {
  const deaf = toolOf('deaf', forever)
  for (const grace of [0, 70]) {
    const controller = new AbortController()
    const agent = createAgent({ model: scriptedModel([respond(call('deaf'))]), tools: [deaf], grace })
    const seen = watch(agent.run('Go', { signal: controller.signal }))
    await vi.advanceTimersByTimeAsync(10)
    controller.abort()
    await vi.advanceTimersByTimeAsync(grace)
    expect(seen).toMatchObject({ at: 10 + grace, error: { abandoned: ['call_1_1'] } })
  }
})
