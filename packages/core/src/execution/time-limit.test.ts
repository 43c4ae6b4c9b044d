import { getEventListeners } from 'node:events'
import { call, collect, end, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { early } from '../../test/early-calls.ts'
import { timedLog } from '../../test/timed-log.ts'
import {
  AgentError,
  type AgentOptions,
  createAgent,
  type Middleware,
  type Progress,
  type Tool,
  type ToolContext,
  ToolTimeoutError,
  tool,
} from '../index.ts'

const { at, timeOf } = timedLog()
const LIMIT = 'work was cut off after its time limit of 100 ms; its effect may have happened'

function work(execute: (context: ToolContext) => unknown, more: Omit<Partial<Tool>, 'needs'> = {}): Tool {
  return tool({
    name: 'work',
    description: 'Works',
    input: z.object({}),
    timeout: 100,
    execute: (_, context) => execute(context),
    ...more,
  }) as Tool
}

/** A run with calls of this tool. */
async function ran(tool: Tool, more: Partial<AgentOptions> = {}, count = 1) {
  const calls = Array.from({ length: count }, (_, n) => call('work', {}, { id: `c${n}` }))
  const model = scriptedModel([respond(...calls), respond(say('Done.'))])
  const run = createAgent({ model, tools: [tool], ...more }).stream('Go')
  const reading = collect(run)
  await vi.runAllTimersAsync()
  const collected = await reading
  const texts = (collected.result ?? (collected.error as AgentError)).messages?.flatMap((message) =>
    message.role === 'tool' && message.content[0]?.type === 'text' ? [message.content[0].text] : [],
  )
  return { ...collected, texts, run }
}

test('after its time a call’s signal aborts, its error result names the limit, and the run goes on (I10)', async () => {
  const log: string[] = []
  const { result, texts } = await ran(
    work(({ signal }) => {
      signal.addEventListener('abort', () => log.push(`${at()} ${(signal.reason as Error).name}`))
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
    }),
  )
  expect(log).toEqual(['100 ToolTimeoutError'])
  expect(texts).toEqual([LIMIT])
  expect(result?.text).toBe('Done.')
  expect(result?.messages[2]).toMatchObject({ isError: true })
  expect(result?.abandoned).toBeUndefined()
})

test('time counts from the start of execute, not from the queue (I10)', async () => {
  const log: string[] = []
  const { texts } = await ran(
    work(async ({ callId }) => {
      log.push(`${at()} ${callId}`)
      await sleep(90)
      return callId
    }),
    { toolConcurrency: 1 },
    3,
  )
  expect(log).toEqual(['0 c0', '90 c1', '180 c2'])
  expect(texts).toEqual(['c0', 'c1', 'c2'])
})

test('a long input check and the wraps of a call do not count either (I10)', async () => {
  const dawdles: Middleware = {
    name: 'dawdles',
    async *wrapToolCall(request, next) {
      await sleep(500)
      return yield* next(request)
    },
  }
  const input = z.object({}).refine(() => sleep(500).then(() => true))
  const { texts } = await ran(
    work(() => sleep(90).then(() => 'in time'), { input }),
    { middleware: [dawdles] },
  )
  expect(texts).toEqual(['in time'])
})

test.for<readonly [string, () => unknown]>([
  ['a value', () => sleep(150)],
  ['a throw', () => sleep(150).then(() => Promise.reject(new Error('too late')))],
  ['an AgentError', () => sleep(150).then(() => Promise.reject(new AgentError('too late')))],
  [
    'a generator’s return',
    async function* (): AsyncGenerator<Progress, string> {
      await sleep(150)
      return 'late'
    },
  ],
  [
    'a generator’s throw',
    async function* (): AsyncGenerator<Progress, string> {
      await sleep(150)
      throw new Error('too late')
    },
  ],
])('%s that comes late is dropped (I10)', async ([, execute]) => {
  const { texts, result } = await ran(work(execute))
  expect(texts).toEqual([LIMIT])
  expect(result?.abandoned).toBeUndefined()
})

test('a generator is closed at its next yield, and its finally has run before the call settles (I10, I14)', async () => {
  const log: string[] = []
  const { texts, events, run } = await ran(
    work(async function* () {
      try {
        for (let n = 1; ; n++) {
          await sleep(40)
          yield { message: `${n}` }
        }
      } finally {
        await sleep(30)
        log.push(`${at()} tidied up`)
      }
    }),
  )
  expect(log).toEqual(['150 tidied up'])
  expect(texts).toEqual([LIMIT])
  expect(events.flatMap((event) => (event.type === 'tool-progress' ? [event.message] : []))).toEqual(['1', '2'])
  expect(run.toolStatus('c0')).toMatchObject({ state: 'timed-out', endedAt: timeOf(150) })
})

test('a generator whose time is over while a wrap holds its report goes no further (I10)', async () => {
  const log: string[] = []
  const holds: Middleware = {
    name: 'holds',
    async *wrapToolCall(request, next) {
      const flow = next(request)
      for (;;) {
        const step = await flow.next()
        if (step.done) return step.value
        await sleep(150)
        yield step.value
      }
    },
  }
  const { texts } = await ran(
    work(async function* () {
      try {
        log.push('one')
        yield { message: 'one' }
        log.push('two')
        yield { message: 'two' }
      } finally {
        log.push('tidied up')
      }
    }),
    { middleware: [holds] },
  )
  expect(log).toEqual(['one', 'tidied up'])
  expect(texts).toEqual([LIMIT])
})

test.for([
  ['a function', () => sleep(5_000).then(() => 'late')],
  [
    'a generator',
    async function* () {
      try {
        await sleep(5_000)
        yield { message: 'late' }
      } finally {
        await sleep(10)
      }
    },
  ],
] as const)('%s that ignores its signal has the grace time, then is abandoned (I10, K12)', async ([, execute]) => {
  const ended: number[] = []
  const notes: Middleware = {
    name: 'notes',
    async *wrapToolCall(request, next) {
      try {
        return yield* next(request)
      } finally {
        ended.push(at())
      }
    },
  }
  const { texts, result, events } = await ran(work(execute as () => unknown), { grace: 300, middleware: [notes] })
  expect(ended).toEqual([400])
  expect(texts).toEqual([LIMIT])
  expect(result?.abandoned).toEqual(['c0'])
  expect(events.filter(({ type }) => type === 'tool-progress')).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})

test('what an abandoned execution does later has no effect, although its call goes on (I10, K13)', async () => {
  const log: string[] = []
  const again: Middleware = {
    name: 'again',
    async *wrapToolCall(request, next) {
      try {
        return yield* next(request)
      } catch (error) {
        log.push(`${at()} ${(error as Error).name}`)
        return yield* next(request)
      }
    },
  }
  const { texts, events, result } = await ran(
    work(async function* ({ attempt, run }): AsyncGenerator<Progress, string> {
      yield { message: `from ${attempt}` }
      if (attempt === 2) {
        await sleep(90)
        return 'second time'
      }
      await sleep(150)
      run?.emit({ name: 'late', data: null })
      const inner = { type: 'tool-call', id: 'x', name: 'work', input: {} } as const
      const refused = await run?.callTool(inner).catch((error: Error) => error.name)
      log.push(`${at()} ${JSON.stringify(refused)}`)
      yield { message: 'late' }
      return 'first time'
    }),
    { middleware: [again], grace: 20 },
  )
  expect(log).toEqual(['120 ToolTimeoutError', '150 "ToolTimeoutError"'])
  expect(texts).toEqual(['second time'])
  expect(result?.abandoned).toEqual(['c0'])
  expect(events.flatMap((event) => (event.type === 'tool-progress' ? [event.message] : []))).toEqual([
    'from 1',
    'from 2',
  ])
  expect(events.filter(({ type }) => type === 'custom')).toEqual([])
})

test('the inner calls of a call are cut off with it when its time is over (I10)', async () => {
  const log: string[] = []
  const inner = tool({
    name: 'inner',
    description: 'Waits',
    input: z.object({}),
    execute: (_, { signal }) =>
      new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          log.push(`${at()} ${(signal.reason as Error).name}`)
          reject(signal.reason)
        }),
      ),
  }) as Tool
  const outer = work(({ run }) => run?.callTool({ type: 'tool-call', id: 'inner', name: 'inner', input: {} }))
  const model = scriptedModel([respond(call('work')), respond(say('Done.'))])
  const running = createAgent({ model, tools: [outer, inner] }).run('Go')
  await vi.runAllTimersAsync()
  expect((await running).text).toBe('Done.')
  expect(log).toEqual(['100 ToolTimeoutError'])
})

test('neither a call that ends in time nor one whose run is aborted leaves a timer (I10, A25)', async () => {
  const signals: AbortSignal[] = []
  const quick = work(({ signal }) => {
    signals.push(signal)
    return 'quick'
  })
  const model = scriptedModel([respond(call('work'), call('work')), respond(say('Done.'))])
  await createAgent({ model, tools: [quick], toolConcurrency: 1 }).run('Go')
  expect(vi.getTimerCount()).toBe(0)
  expect(signals.map((signal) => getEventListeners(signal, 'abort'))).toEqual([[], []])

  const controller = new AbortController()
  const deaf = work(() => new Promise(() => undefined), { timeout: 1_000_000 })
  const run = createAgent({ model: scriptedModel([respond(call('work'))]), tools: [deaf] }).stream('Go', {
    signal: controller.signal,
  })
  await vi.advanceTimersByTimeAsync(50)
  controller.abort()
  await vi.advanceTimersByTimeAsync(1_000)
  await expect(run.result).rejects.toMatchObject({ abandoned: ['call_1_1'] })
  expect(vi.getTimerCount()).toBe(0)
})

test('a call that is still running after its time limit and is discarded is reported as not undone (I10, H23)', async () => {
  const undone: unknown[] = []
  const model = scriptedModel([respond(call('work'), wait(2_000), end({ finishReason: 'other' }))])
  const booking = work(() => sleep(5_000).then(() => 'booked'), {
    effect: 'reversible',
    compensate: (_, output) => void undone.push(output),
  })
  const running = createAgent({ model, tools: [booking], middleware: [early], grace: 200 }).run('Go')
  await vi.runAllTimersAsync()
  const { warnings, abandoned } = await running
  expect(warnings).toMatchObject([{ code: 'compensation-failed', message: expect.stringContaining('not undone') }])
  expect(abandoned).toEqual(['call_1_1'])
  expect(undone).toEqual([])
})

test('a wrap sees the throw and may answer instead (I10, C18)', async () => {
  const answers: Middleware = {
    name: 'answers',
    async *wrapToolCall(request, next) {
      try {
        return yield* next(request)
      } catch (error) {
        const text = error instanceof ToolTimeoutError ? `${error.tool} took more than ${error.timeout}` : 'other'
        return { role: 'tool', callId: request.id, name: request.name, content: [{ type: 'text', text }] }
      }
    },
  }
  const { texts, run } = await ran(
    work(({ signal }) => sleep(200).then(() => signal.throwIfAborted())),
    {
      middleware: [answers],
    },
  )
  expect(texts).toEqual(['work took more than 100'])
  expect(run.toolStatus('c0')).toMatchObject({ state: 'ok' })
})

test('a limit too large for a timer, such as Infinity, means no limit (I10)', async () => {
  const { texts } = await ran(work(() => sleep(1_000).then(() => 'done'), { timeout: Number.POSITIVE_INFINITY }))
  expect(texts).toEqual(['done'])
})
