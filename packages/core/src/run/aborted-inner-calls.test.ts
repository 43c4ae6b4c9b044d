import { call, cut, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { earlyAndAgain, Fatal, forever, heeds, settled, toolOf, watch } from '../../test/aborted-runs.ts'
import { sleep } from '../../test/clock.ts'
import { CUT_OFF, resultsIn } from '../../test/results.ts'
import { createAgent, interrupt, type RunAbortedError } from '../index.ts'

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

test('the inner call of a discarded call is aborted with it (H39)', async () => {
  const aborted: string[] = []
  const tools = [
    toolOf('outer', async ({ run }) => {
      await run?.callTool({ type: 'tool-call', id: 'inner', name: 'work', input: {} })
    }),
    toolOf('work', ({ signal, callId }) => heeds(signal).finally(() => aborted.push(callId))),
  ]
  const model = scriptedModel([respond(call('outer'), wait(10), cut()), respond(say('done'))])
  const seen = watch(createAgent({ model, tools, middleware: [earlyAndAgain] }).run('Go'))
  await vi.advanceTimersByTimeAsync(10)
  expect(aborted).toEqual(['inner'])
  expect(seen).toMatchObject({ at: 10, value: { text: 'done' } })
})

test('a stopped call starts no more inner calls (A12, K13)', async () => {
  const fatal = new Fatal('that was it')
  const outcomes: unknown[] = []
  const deaf = toolOf('deaf', forever)
  const tools = [
    toolOf('fatal', async () => {
      await sleep(100)
      throw fatal
    }),
    toolOf('sibling', async ({ run, signal }) => {
      await heeds(signal).catch(() => undefined)
      const call = { type: 'tool-call', id: 'late', name: 'deaf', input: {} } as const
      await run?.callTool(call).catch((error: unknown) => outcomes.push(error))
    }),
    deaf,
  ]
  const agent = createAgent({ model: scriptedModel([respond(call('fatal'), call('sibling'))]), tools })
  const { events, error } = await settled(agent.stream('Go'), 2_000)
  expect(error).toBe(fatal)
  expect(outcomes).toEqual([fatal])
  expect(events.some((event) => 'callId' in event && event.callId === 'late')).toBe(false)
})

test('an inner call is aborted with its maker (K1)', async () => {
  const controller = new AbortController()
  const aborted: string[] = []
  const tools = [
    toolOf('outer', async ({ run }) => {
      await run?.callTool({ type: 'tool-call', id: 'inner', name: 'work', input: {} })
    }),
    toolOf('work', ({ signal, callId }) => heeds(signal).finally(() => aborted.push(callId))),
  ]
  const agent = createAgent({ model: scriptedModel([respond(call('outer', {}, { id: 'one' }))]), tools })
  const seen = watch(agent.run('Go', { signal: controller.signal }))
  await vi.advanceTimersByTimeAsync(10)
  controller.abort()
  await vi.advanceTimersByTimeAsync(0)
  expect(aborted).toEqual(['inner'])
  const inside = '\nInside this call:\n- work {} has no result: it may have happened.'
  expect(resultsIn((seen.error as RunAbortedError).messages)).toEqual([['one', CUT_OFF + inside]])
})

test('a call that only asked a question has not happened, also inside another, if the run is aborted (K1, L7, A12)', async () => {
  const controller = new AbortController()
  const inner = { type: 'tool-call', id: 'inner', name: 'asks', input: {} } as const
  const tools = [
    toolOf('asks', () => interrupt('Well?')),
    toolOf('relays', async ({ run }) => run?.callTool(inner)),
    toolOf('works', async ({ run, signal }) => {
      run?.callTool(inner).catch(() => undefined)
      await heeds(signal)
    }),
  ]
  const calls = ['asks', 'relays', 'works'].map((name) => call(name, {}, { id: name }))
  const agent = createAgent({ model: scriptedModel([respond(...calls)]), tools })
  const seen = watch(agent.run('Go', { signal: controller.signal }))
  await vi.advanceTimersByTimeAsync(10)
  controller.abort()
  await vi.advanceTimersByTimeAsync(0)
  const notRun = 'Not run: the run ended before this call started.'
  expect(resultsIn((seen.error as RunAbortedError).messages)).toEqual([
    ['asks', notRun],
    ['relays', notRun],
    ['works', CUT_OFF],
  ])
})
