import { call, collect, fail, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { askAgain } from '../../test/again.ts'
import { sleep } from '../../test/clock.ts'
import { early } from '../../test/early-calls.ts'
import {
  type AgentOptions,
  type AgentRun,
  createAgent,
  interrupt,
  type Message,
  type Middleware,
  NotCancelableError,
  type Tool,
  ToolCancelledError,
  tool,
  UnknownCallError,
} from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const RUNNING = 'The call was cancelled while it was running. It was cut off, and its effect may have happened.'
const QUEUED = 'Not run: the call was cancelled before it started.'

/** Reacts to its signal, and logs what happens. */
function heeding(log: string[], more: Omit<Partial<Tool>, 'needs'> = {}): Tool {
  return tool({
    name: 'work',
    description: 'Works a second',
    input: z.object({}),
    execute: (_, { callId, signal }) =>
      new Promise((resolve, reject) => {
        log.push(`start ${callId}`)
        const done = setTimeout(() => {
          log.push(`end ${callId}`)
          resolve(callId)
        }, 1_000)
        signal.addEventListener('abort', () => {
          clearTimeout(done)
          log.push(`abort ${callId}: ${(signal.reason as Error).name}`)
          reject(signal.reason)
        })
      }),
    ...more,
  }) as Tool
}

function started(tools: readonly Tool[], ids: readonly string[], more: Partial<AgentOptions> = {}): AgentRun {
  const calls = ids.map((id) => call('work', {}, { id }))
  return createAgent({ model: scriptedModel([respond(...calls), respond(say('Done.'))]), tools, ...more }).stream('Go')
}

function resultsOf(messages: readonly Message[] = []) {
  return messages.flatMap((message) =>
    message.role === 'tool' ? [[message.callId, message.content[0]?.type === 'text' && message.content[0].text]] : [],
  )
}

test('only the cancelled call is cancelled: it gets an error result with that reason, and the run goes on (I4)', async () => {
  const log: string[] = []
  const run = started([heeding(log)], ['a', 'b'])
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(100)
  expect(run.cancelTool('a')).toBe(true)
  await vi.runAllTimersAsync()
  const { result, events } = await reading
  expect(log).toEqual(['start a', 'start b', 'abort a: ToolCancelledError', 'end b'])
  expect(resultsOf(result?.messages)).toEqual([
    ['a', RUNNING],
    ['b', 'b'],
  ])
  expect(result?.messages[2]).toMatchObject({ callId: 'a', isError: true })
  expect(result?.text).toBe('Done.')
  expect(events.filter(({ type }) => type === 'tool-end')).toMatchObject([{ callId: 'a' }, { callId: 'b' }])
  expect(result?.abandoned).toBeUndefined()
})

test('whatever a cancelled call still returns, its result states that it was cancelled (I4)', async () => {
  const tidy = tool({
    name: 'work',
    description: 'Tidies up',
    input: z.object({}),
    async execute() {
      await sleep(300)
      return 'all is well'
    },
  })
  const run = started([tidy], ['a'])
  await vi.advanceTimersByTimeAsync(100)
  expect(run.cancelTool('a')).toBe(true)
  expect(run.cancelTool('a')).toBe(true)
  await vi.runAllTimersAsync()
  expect(resultsOf((await run.result).messages)).toEqual([['a', RUNNING]])
})

test('a call that asks after it was cancelled stays cancelled: no question is asked, and the other calls go on (I4, L3)', async () => {
  const log: string[] = []
  const ask = tool({
    name: 'ask',
    description: 'Asks after a while',
    input: z.object({}),
    async execute() {
      await sleep(300)
      throw interrupt('still?')
    },
  })
  const model = scriptedModel([
    respond(call('ask', {}, { id: 'a' }), call('work', {}, { id: 'b' })),
    respond(say('Done.')),
  ])
  const run = createAgent({ model, tools: [ask, heeding(log)] }).stream('Go')
  await vi.advanceTimersByTimeAsync(100)
  expect(run.cancelTool('a')).toBe(true)
  await vi.runAllTimersAsync()
  const result = await run.result
  expect(log).toEqual(['start b', 'end b'])
  expect(result.status).toBe('completed')
  expect(resultsOf(result.messages)).toEqual([
    ['a', RUNNING],
    ['b', 'b'],
  ])
})

test('a cancelled call is over: a resume has its result, does not make it again, and does not report it a second time (I4, L3, B6)', async () => {
  const log: string[] = []
  const asks = tool({
    name: 'asks',
    description: 'Asks after half a second',
    input: z.object({}),
    async execute(_, { answers }) {
      if (answers.length > 0) return 'sure'
      await sleep(500)
      throw interrupt('Sure?')
    },
  })
  const asked = respond(call('work', {}, { id: 'a' }), call('asks', {}, { id: 'b' }))
  const agent = createAgent({
    model: scriptedModel([asked, respond(say('Done.'))]),
    tools: [heeding(log), asks as Tool],
  })
  const run = agent.stream('Go')
  await vi.advanceTimersByTimeAsync(100)
  run.cancelTool('a')
  await vi.runAllTimersAsync()
  const { checkpoint, interrupts = [] } = await run.result
  const { events, result } = await collect(agent.resume(checkpoint ?? '', { [interrupts[0]?.id ?? '']: 'yes' }))
  expect(resultsOf(result?.messages)).toEqual([
    ['a', RUNNING],
    ['b', 'sure'],
  ])
  expect(result?.unknown).toBeUndefined()
  expect(events.filter(({ type }) => type === 'tool-end')).toMatchObject([{ callId: 'b' }])
  expect(log).toEqual(['start a', 'abort a: ToolCancelledError'])
})

test('a cancelled call that ignores its signal has the grace time, is then abandoned, and the run goes on (I4, K12)', async () => {
  const log: string[] = []
  const deaf = tool({
    name: 'work',
    description: 'Does not listen',
    input: z.object({}),
    async execute(_, { run }) {
      await sleep(60_000)
      run?.emit({ name: 'late', data: null })
      log.push(`goes on at ${performance.now()}`)
    },
  })
  const run = started([deaf], ['a'], { grace: 200 })
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(100)
  run.cancelTool('a')
  await vi.advanceTimersByTimeAsync(200)
  const { result, events } = await reading
  expect(result).toMatchObject({ text: 'Done.', abandoned: ['a'] })
  expect(resultsOf(result?.messages)).toEqual([['a', RUNNING]])
  expect(run.toolStatus('a')).toMatchObject({ state: 'abandoned' })
  await vi.runAllTimersAsync()
  expect(log).toHaveLength(1)
  expect(events.filter(({ type }) => type === 'custom')).toEqual([])
})

test('a call cancelled in the queue never starts, and its result states that (I4, I7)', async () => {
  const log: string[] = []
  const run = started([heeding(log)], ['a', 'b', 'c'], { toolConcurrency: 1 })
  await vi.advanceTimersByTimeAsync(100)
  expect(run.cancelTool('b')).toBe(true)
  await vi.runAllTimersAsync()
  expect(log).toEqual(['start a', 'end a', 'start c', 'end c'])
  expect(resultsOf((await run.result).messages)).toEqual([
    ['a', 'a'],
    ['b', QUEUED],
    ['c', 'c'],
  ])
})

test('a call that has settled is not cancelled, and an id without a call is unknown (I4)', async () => {
  const run = started([heeding([])], ['a'])
  await vi.advanceTimersByTimeAsync(100)
  expect(() => run.cancelTool('b')).toThrow(UnknownCallError)
  await vi.runAllTimersAsync()
  expect(run.cancelTool('a')).toBe(false)
  const { messages } = await run.result
  expect(resultsOf(messages)).toEqual([['a', 'a']])
})

test('a tool that forbids it is not cancelled and goes on; an abort of the run still reaches it (I5)', async () => {
  const log: string[] = []
  const controller = new AbortController()
  const agent = createAgent({
    model: scriptedModel([respond(call('work', {}, { id: 'a' }))]),
    tools: [heeding(log, { cancelable: false })],
  })
  const run = agent.stream('Go', { signal: controller.signal })
  await vi.advanceTimersByTimeAsync(100)
  let thrown: unknown
  try {
    run.cancelTool('a')
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(NotCancelableError)
  expect(thrown).toMatchObject({ callId: 'a', tool: 'work' })
  await vi.advanceTimersByTimeAsync(100)
  expect(log).toEqual(['start a'])
  controller.abort()
  await vi.runAllTimersAsync()
  expect(log).toEqual(['start a', 'abort a: AbortError'])
  await expect(run.result).rejects.toMatchObject({ name: 'AbortError' })
})

test('hooks, wraps and tools cancel calls, too; a wrap sees the tool’s throw (I4)', async () => {
  const log: string[] = []
  const guard: Middleware = {
    name: 'guard',
    async *wrapToolCall(request, next, run) {
      setTimeout(() => log.push(`cancel ${request.id}: ${run.cancelTool(request.id)}`), 50)
      try {
        return yield* next(request)
      } catch (error) {
        log.push(`thrown: ${error instanceof ToolCancelledError && error.callId}`)
        throw error
      }
    },
  }
  const run = started([heeding(log)], ['a'], { middleware: [guard] })
  await vi.runAllTimersAsync()
  expect(resultsOf((await run.result).messages)).toEqual([['a', RUNNING]])
  expect(log).toEqual(['start a', 'abort a: ToolCancelledError', 'cancel a: true', 'thrown: a'])
})

test('the inner calls of a cancelled call are cancelled with it (I4, H39)', async () => {
  const log: string[] = []
  const asks = tool({
    name: 'work',
    description: 'Lets another work',
    input: z.object({}),
    async execute(_, { run }) {
      const made = await run?.callTool({ type: 'tool-call', id: 'inner', name: 'inner', input: {} })
      log.push(`inner is error: ${made?.isError}`)
    },
  })
  const run = started([asks, heeding(log, { name: 'inner' })], ['a'])
  await vi.advanceTimersByTimeAsync(100)
  run.cancelTool('a')
  await vi.runAllTimersAsync()
  await run.result
  expect(log).toEqual(['start inner', 'abort inner: ToolCancelledError', 'inner is error: true'])
})

test.for(['first', 'second'])('a call whose id a retry changed is cancelled by its %s id (I4, I6, O4)', async (id) => {
  const log: string[] = []
  const model = scriptedModel([
    respond(call('work', {}, { id: 'first' }), fail({ status: 500 })),
    respond(call('work', {}, { id: 'second' })),
    respond(say('Done.')),
  ])
  const run = createAgent({ model, tools: [heeding(log)], middleware: [askAgain, early] }).stream('Go')
  await vi.advanceTimersByTimeAsync(100)
  expect(run.toolStatus(id)).toMatchObject({ state: 'running' })
  expect(run.cancelTool(id)).toBe(true)
  await vi.runAllTimersAsync()
  expect(log).toEqual(['start first', 'abort first: ToolCancelledError'])
  expect(resultsOf((await run.result).messages)).toEqual([['second', RUNNING]])
  expect([run.toolStatus('first'), run.toolStatus('second')]).toMatchObject([
    { state: 'cancelled' },
    { state: 'cancelled' },
  ])
})

test('an early call that was cancelled before its model call succeeded is not made again (I4)', async () => {
  const log: string[] = []
  const model = scriptedModel([respond(call('work', {}, { id: 'a' }), wait(500)), respond(say('Done.'))])
  const run = createAgent({ model, tools: [heeding(log)], middleware: [early] }).stream('Go')
  await vi.advanceTimersByTimeAsync(100)
  expect(run.cancelTool('a')).toBe(true)
  await vi.runAllTimersAsync()
  expect(log).toEqual(['start a', 'abort a: ToolCancelledError'])
  expect(resultsOf((await run.result).messages)).toEqual([['a', RUNNING]])
})

test('after a cancel no timer is left (I4, A25)', async () => {
  const run = started([heeding([])], ['a'])
  await vi.advanceTimersByTimeAsync(100)
  run.cancelTool('a')
  await vi.advanceTimersByTimeAsync(0)
  await run.result
  expect(vi.getTimerCount()).toBe(0)
})
