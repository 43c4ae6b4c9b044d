import { call, collect, cut, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { earlyAndAgain, forever, toolOf, watch } from '../../test/aborted-runs.ts'
import { sleep } from '../../test/clock.ts'
import { CUT_OFF, resultsIn } from '../../test/results.ts'
import { createAgent, type RunAbortedError, tool } from '../index.ts'

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

test('the slot of an abandoned call is free, and a run that goes on reports it (K12)', async () => {
  const deaf = toolOf('deaf', forever)
  const at: number[] = []
  const next = toolOf('next', () => void at.push(performance.now()))
  const model = scriptedModel([
    respond(call('deaf', {}, { id: 'one' }), wait(10), cut()),
    respond(call('next', {}, { id: 'two' })),
    respond(say('done')),
  ])
  const options = { tools: [deaf, next], middleware: [earlyAndAgain], toolConcurrency: 1 }
  const start = performance.now()
  const seen = watch(createAgent({ model, ...options }).run('Go'))
  await vi.advanceTimersByTimeAsync(5_000)
  // 10 ms: the failed response, the other one, and the discard. 1,000 ms: grace.
  expect(at).toEqual([start + 1_010])
  expect(seen).toMatchObject({ at: 1_010, value: { status: 'completed', abandoned: ['one'] } })
  expect(resultsIn(seen.value?.messages)).toEqual([['two', '']])
})

/** A tool that wakes up on demand, and then does everything a tool can do. */
function zombie() {
  let wake: () => void = () => undefined
  const sleeping = new Promise<void>((resolve) => {
    wake = resolve
  })
  const heard: unknown[] = []
  const tools = [
    tool({
      name: 'zombie',
      description: 'Never dies.',
      input: z.object({}),
      async *execute(_, { run, signal }) {
        yield { message: 'alive' }
        await sleeping
        heard.push(signal.aborted)
        run?.emit({ name: 'moan', data: 1 })
        run?.warn({ code: 'moan', message: 'moan' })
        const call = { type: 'tool-call', id: 'from the grave', name: 'quick', input: {} } as const
        heard.push(await run?.callTool(call).catch((error: unknown) => (error instanceof Error ? error.name : error)))
        yield { message: 'undead' }
        return 'brains'
      },
    }),
    toolOf('quick', () => heard.push('quick was executed')),
  ]
  return { tools, heard, wake }
}

test('actions of an abandoned tool after the run have no effect (K13)', async () => {
  const controller = new AbortController()
  const { tools, heard, wake } = zombie()
  const agent = createAgent({ model: scriptedModel([respond(call('zombie', {}, { id: 'one' }))]), tools })
  const run = agent.stream('Go', { signal: controller.signal })
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(10)
  controller.abort()
  await vi.advanceTimersByTimeAsync(1_000)
  const { events, error } = await reading
  const before = structuredClone({ events: events.length, messages: (error as RunAbortedError).messages })
  expect(resultsIn(before.messages)).toEqual([['one', CUT_OFF]])

  wake()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(heard).toEqual([true, 'AbortError'])
  expect({ events: events.length, messages: (error as RunAbortedError).messages }).toEqual(before)
  expect(vi.getTimerCount()).toBe(0)
})

test('actions of an abandoned tool while the run goes on have no effect (K13)', async () => {
  const { tools, heard, wake } = zombie()
  const rest = toolOf('rest', () => sleep(5_000))
  const model = scriptedModel([
    respond(call('zombie', {}, { id: 'one' }), wait(10), cut()),
    respond(call('rest', {}, { id: 'two' })),
    respond(say('done')),
  ])
  const agent = createAgent({ model, tools: [...tools, rest], middleware: [earlyAndAgain] })
  const reading = collect(agent.stream('Go'))
  await vi.advanceTimersByTimeAsync(2_000)
  wake()
  await vi.advanceTimersByTimeAsync(4_000)
  const { events, result } = await reading
  expect(heard).toEqual([true, expect.any(String)])
  expect(heard).not.toContain('quick was executed')
  expect(result).toMatchObject({ status: 'completed', abandoned: ['one'], warnings: [] })
  expect(resultsIn(result?.messages)).toEqual([['two', '']])
  const told = events.flatMap((event) => ('callId' in event ? [[event.type, event.callId]] : []))
  expect(told).toEqual([
    ['tool-start', 'one'],
    ['tool-entered', 'one'],
    ['tool-progress', 'one'],
    ['tool-start', 'two'],
    ['tool-entered', 'two'],
    ['tool-discarded', 'one'],
    ['tool-committed', 'two'],
    ['tool-end', 'two'],
  ])
  expect(events.some(({ type }) => type === 'custom' || type === 'warning')).toBe(false)
})
