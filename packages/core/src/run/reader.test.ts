import { call, collect, fail, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import {
  AgentError,
  type AgentEvent,
  type AgentRun,
  createAgent,
  type Middleware,
  ModelError,
  RunAbortedError,
  tool,
} from '../index.ts'

const realTurn = setImmediate
const unhandled = unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

/** Node reports unhandled rejections at the end of a turn. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    realTurn(resolve)
  })
}

/** Works until it is aborted, and logs how it ended. */
function endless(log: string[]) {
  return tool({
    name: 'endless',
    description: 'Works until it is aborted',
    input: z.object({}),
    async *execute(_, { signal }) {
      try {
        yield { message: 'working' }
        await new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            log.push('the tool is aborted')
            reject(signal.reason)
          })
        })
      } finally {
        log.push('the tool has ended')
      }
    },
  })
}

/** Logs when its wraps have ended. */
function logging(log: string[]): Middleware {
  return {
    name: 'logging',
    async *wrapAgent(setup, next) {
      try {
        return yield* next(setup)
      } finally {
        log.push('the agent has ended')
      }
    },
    async *wrapModel(request, next) {
      const aborted = () => log.push('the model is aborted')
      request.signal.addEventListener('abort', aborted)
      try {
        return yield* next(request)
      } finally {
        request.signal.removeEventListener('abort', aborted)
        log.push('the model call has ended')
      }
    },
  }
}

const LEAVE: Record<string, (run: AgentRun, at: AgentEvent['type']) => Promise<void>> = {
  async break(run, at) {
    for await (const event of run) if (event.type === at) break
  },
  async throw(run, at) {
    try {
      for await (const event of run) if (event.type === at) throw new Error('enough')
    } catch (error) {
      expect(error).toEqual(new Error('enough'))
    }
  },
  async 'return()'(run, at) {
    const events = run[Symbol.asyncIterator]()
    for (;;) {
      const step = await events.next()
      if (step.done || step.value.type === at) break
    }
    expect(await events.return?.()).toEqual({ done: true, value: undefined })
    expect(await events.next()).toEqual({ done: true, value: undefined })
  },
}

test.each(Object.keys(LEAVE))('a reader that leaves the model by %s aborts the run (B10)', async (way) => {
  const log: string[] = []
  const model = scriptedModel([respond(say('Well'), wait(1_000), say('now'))])
  const run = createAgent({ model, middleware: [logging(log)] }).stream('go')
  const leaving = LEAVE[way]?.(run, 'text-delta')
  await vi.advanceTimersByTimeAsync(1)
  await leaving
  expect(log).toEqual(['the model is aborted', 'the model call has ended', 'the agent has ended'])
  await expect(run.result).rejects.toThrow(RunAbortedError)
  await turn()
  expect(unhandled).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})

test.each(Object.keys(LEAVE))('a reader that leaves a running tool by %s aborts the run (B10)', async (way) => {
  const log: string[] = []
  const model = scriptedModel([respond(call('endless')), respond(say('Done'))])
  const run = createAgent({ model, tools: [endless(log)], middleware: [logging(log)] }).stream('go')
  const leaving = LEAVE[way]?.(run, 'tool-progress')
  await vi.advanceTimersByTimeAsync(1)
  await leaving
  expect(log).toEqual(['the model call has ended', 'the tool is aborted', 'the tool has ended', 'the agent has ended'])
  await expect(run.result).rejects.toThrow(RunAbortedError)
  expect(model.requests).toHaveLength(1)
  await turn()
  expect(unhandled).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})

test('a reader that throws when a tool has ended leaves its result in the history of the error (B10)', async () => {
  const send = tool({ name: 'send', description: 'Sends', input: z.object({}), execute: () => 'Sent.' })
  const run = createAgent({
    model: scriptedModel([respond(call('send')), respond(say('Done'))]),
    tools: [send],
  }).stream('go')
  await LEAVE.throw?.(run, 'tool-end')
  const error: unknown = await run.result.catch((error: unknown) => error)
  expect(error).toBeInstanceOf(RunAbortedError)
  const history = error instanceof AgentError ? (error.messages ?? []) : []
  expect(history.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
  expect(history.at(-1)?.content).toEqual([{ type: 'text', text: 'Sent.' }])
})

test('a reader that waits for an event when it is closed receives none (B10)', async () => {
  const model = scriptedModel([respond(wait(1_000), say('Late'))])
  const run = createAgent({ model }).stream('go')
  const events = run[Symbol.asyncIterator]()
  await events.next()
  await events.next()
  await events.next()
  const waiting = events.next()
  const left = events.return?.()
  expect(await waiting).toEqual({ done: true, value: undefined })
  expect(await left).toEqual({ done: true, value: undefined })
  await expect(run.result).rejects.toThrow(RunAbortedError)
})

test('a reader that leaves after the end changes nothing (B10)', async () => {
  const run = createAgent({ model: scriptedModel([respond(say('Hi'))]) }).stream('go')
  const result = await run.result
  for await (const event of run) if (event.type === 'run-start') break
  expect(result.text).toBe('Hi')
})

test('a run starts when stream is called and needs no reader (B11)', async () => {
  const model = scriptedModel([respond(call('endless')), respond(say('Done'))], {
    pace: { firstToken: 100, betweenTokens: 10 },
  })
  const quick = tool({ name: 'endless', description: 'Ends', input: z.object({}), execute: () => 'ended' })
  const run = createAgent({ model, tools: [quick] }).stream('go')
  await vi.advanceTimersByTimeAsync(99)
  expect(model.requests).toHaveLength(1)
  await vi.runAllTimersAsync()
  expect(await run.result).toMatchObject({ status: 'completed', text: 'Done' })
})

test.each([
  ['fails', () => createAgent({ model: scriptedModel([respond(fail())]) }).stream('go')],
  ['is refused', () => createAgent({ model: scriptedModel([]) }).stream('')],
  ['is aborted at once', () => createAgent({ model: scriptedModel([]) }).stream('go', { signal: AbortSignal.abort() })],
])('a run that %s while nothing awaits its result causes no unhandled rejection (B11)', async (_, start) => {
  const run = start()
  await turn()
  await turn()
  expect(unhandled).toEqual([])
  await expect(run.result).rejects.toThrow()
})

test('a reader of a failed run need not await the result (B11)', async () => {
  const run = createAgent({ model: scriptedModel([respond(say('Half'), fail())]) }).stream('go')
  const reading = (async () => {
    for await (const _ of run);
  })()
  await expect(reading).rejects.toThrow(ModelError)
  await turn()
  expect(unhandled).toEqual([])
})

test('no reader changes the time or the order of what a run does (B12)', async () => {
  const script = [
    respond(say('Let me see', { deltas: 4 }), call('step', { ms: 30 }), call('step', { ms: 20 }), wait(10)),
    respond(say('Done with it', { deltas: 6 })),
  ]
  const traceOf = async (read: (run: AgentRun) => Promise<unknown>) => {
    const start = Date.now()
    const trace: [at: number, what: string][] = []
    const note = (what: string) => trace.push([Date.now() - start, what])
    const step = tool({
      name: 'step',
      description: 'Takes a while',
      input: z.object({ ms: z.number() }),
      async *execute({ ms }, { callId }) {
        for (let part = 0; part < 4; part++) {
          note(`${callId} part ${part}`)
          await sleep(ms / 4)
          yield { progress: part / 4 }
        }
        note(`${callId} ends`)
      },
    })
    const watching: Middleware = {
      name: 'watching',
      async *wrapModel(request, next) {
        const flow = next(request)
        for (;;) {
          const step = await flow.next()
          note(step.done ? 'message' : String(step.value.type))
          if (step.done) return step.value
          yield step.value
        }
      },
    }
    const model = scriptedModel(script, { pace: { firstToken: 20, betweenTokens: 5 } })
    const run = createAgent({ model, tools: [step], middleware: [watching] }).stream('go')
    const reading = read(run)
    await vi.runAllTimersAsync()
    await reading
    return trace
  }
  const unread = await traceOf(async (run) => run.result)
  expect(unread.at(-1)).toEqual([unread.at(-1)?.[0], 'message'])
  expect(await traceOf(collect)).toEqual(unread)
  const slow = async (run: AgentRun) => {
    for await (const _ of run) await sleep(100)
  }
  expect(await traceOf(slow)).toEqual(unread)
})

test('events can be read once, and a second reader does not disturb the first (B13)', async () => {
  const model = scriptedModel([respond(say('One two three'))], { pace: { firstToken: 5, betweenTokens: 5 } })
  const run = createAgent({ model }).stream('go')
  const reading = collect(run)
  expect(() => run[Symbol.asyncIterator]()).toThrow(TypeError)
  await vi.advanceTimersByTimeAsync(6)
  await expect(collect(run)).resolves.toMatchObject({ events: [], error: expect.any(TypeError) })
  await vi.runAllTimersAsync()
  const { events, result } = await reading
  expect(events.map(({ type }) => type)).toEqual([
    'run-start',
    'step-start',
    'attempt-start',
    'text-delta',
    'text-delta',
    'text-delta',
    'message',
    'step-end',
    'run-end',
  ])
  expect(result?.text).toBe('One two three')
  expect(() => run[Symbol.asyncIterator]()).toThrow(TypeError)
})

test('events that are read in parallel arrive once each and in order (B12)', async () => {
  const model = scriptedModel([respond(say('One two'))], { pace: { firstToken: 5, betweenTokens: 5 } })
  const events = createAgent({ model }).stream('go')[Symbol.asyncIterator]()
  const steps = Array.from({ length: 10 }, () => events.next())
  await vi.runAllTimersAsync()
  expect((await Promise.all(steps)).map((step) => (step.done ? 'done' : step.value.type))).toEqual([
    'run-start',
    'step-start',
    'attempt-start',
    'text-delta',
    'text-delta',
    'message',
    'step-end',
    'run-end',
    'done',
    'done',
  ])
})
