import { call, collect, fail, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { again, pause, ran } from '../../test/left-flows.ts'
import { createAgent, type Middleware, map, settle, type ToolContext, textOf, tool } from '../index.ts'

beforeEach(() => void vi.useFakeTimers())

afterEach(() => void vi.useRealTimers())

test('next called again makes another attempt, and repeats the wraps inside it, never hooks or outer wraps (C13)', async () => {
  const seen: string[] = []
  const see = (name: string): Middleware => ({
    name,
    beforeModel: () => void seen.push(`beforeModel ${name}`),
    afterModel: () => void seen.push(`afterModel ${name}`),
    async *wrapModel(request, next) {
      seen.push(`wrapModel ${name}`)
      return yield* next(request)
    },
  })
  const model = scriptedModel([respond(fail()), respond(say('half'), fail()), respond(say('whole'))])
  const agent = createAgent({ model, middleware: [see('outer'), again, see('inner')] })
  const { events, result } = await ran(collect(agent.stream('Go')))
  expect(seen).toEqual([
    'beforeModel outer',
    'beforeModel inner',
    'wrapModel outer',
    'wrapModel inner',
    'wrapModel inner',
    'wrapModel inner',
    'afterModel inner',
    'afterModel outer',
  ])
  expect(model.requests).toHaveLength(3)
  expect(events.flatMap((event) => (event.type === 'attempt-start' ? [event.attempt] : []))).toEqual([1, 2, 3])
  expect(result).toMatchObject({ text: 'whole', steps: 1 })
})

test('next called twice at once makes two parallel attempts; what the wrap returns is accepted (C13, B9)', async () => {
  const model = scriptedModel([respond(say('slow', { deltas: ['sl', 'ow'] })), respond(say('quick'))], {
    pace: { firstToken: 10, betweenTokens: 30 },
  })
  const agent = createAgent({
    model,
    middleware: [
      {
        name: 'asks twice',
        async *wrapModel(request, next) {
          const [first, second] = await Promise.all([settle(next(request)), settle(next(request))])
          return textOf(first) < textOf(second) ? first : second
        },
      },
    ],
  })
  const start = performance.now()
  const { events, result } = await ran(collect(agent.stream('Go')))
  expect(performance.now() - start).toBe(40)
  expect(events.map((event) => ('attempt' in event ? `${event.type} ${event.attempt}` : event.type))).toEqual([
    'run-start',
    'step-start',
    'attempt-start 1',
    'attempt-start 2',
    'message',
    'step-end 2',
    'run-end',
  ])
  expect(result).toMatchObject({ text: 'quick', steps: 1 })
})

test('the message of an earlier attempt may be accepted: step-end names it (C13, B9)', async () => {
  const agent = createAgent({
    model: scriptedModel([respond(say('first')), respond(say('second'))]),
    middleware: [
      {
        name: 'prefers the first',
        async *wrapModel(request, next) {
          const message = yield* next(request)
          yield* next(request)
          return message
        },
      },
    ],
  })
  const { events, result } = await ran(collect(agent.stream('Go')))
  expect(events.flatMap((event) => (event.type === 'step-end' ? [event.attempt] : []))).toEqual([1])
  expect(result?.text).toBe('first')
})

/** A tool that logs its input, and fails `failures` times. */
function failing(failures: number) {
  const contexts: Pick<ToolContext, 'attempt' | 'callId' | 'idempotencyKey'>[] = []
  const flaky = tool({
    name: 'flaky',
    description: 'Works in the end.',
    input: z.object({ n: z.number() }),
    execute({ n }, { attempt, callId, idempotencyKey }) {
      contexts.push({ attempt, callId, idempotencyKey })
      if (contexts.length <= failures) throw new Error(`failure ${contexts.length}`)
      return n
    },
  })
  return { flaky, contexts }
}

test('the signal of an execution ends with it: a later abort of its call does not reach it (C14)', async () => {
  const stop = new AbortController()
  const signals: AbortSignal[] = []
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: z.object({}),
    execute: (_, { signal }) => void signals.push(signal),
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('look'))]),
    tools: [look],
    middleware: [
      {
        name: 'stops',
        async *wrapToolCall(call, next, run) {
          const message = yield* next(call)
          stop.abort(new Error('enough'))
          signals.push(run.signal)
          return message
        },
      },
    ],
  })
  await ran(collect(agent.stream('Go', { signal: stop.signal })))
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, true])
})

test('a second next of wrapToolCall executes the tool again: attempt 2 of the same idempotencyKey (C14)', async () => {
  const { flaky, contexts } = failing(2)
  const agent = createAgent({
    model: scriptedModel([respond(call('flaky', { n: 7 })), respond(say('done'))]),
    tools: [flaky],
    middleware: [
      {
        name: 'again',
        async *wrapToolCall(call, next) {
          for (;;) {
            try {
              return yield* next(call)
            } catch {}
          }
        },
      },
    ],
  })
  const { events, result } = await ran(collect(agent.stream('Go')))
  const key = contexts[0]?.idempotencyKey
  expect(key).toMatch(/./)
  expect(contexts).toEqual([1, 2, 3].map((attempt) => ({ attempt, callId: 'call_1_1', idempotencyKey: key })))
  expect(result?.messages[2]).toMatchObject({ role: 'tool', output: 7 })
  expect(events.filter(({ type }) => type === 'tool-start' || type === 'tool-end')).toHaveLength(2)
})

test('two parallel executions are attempts 1 and 2, each with its own slot (C14, A22)', async () => {
  const executing: string[] = []
  const most: number[] = []
  const slow = tool({
    name: 'slow',
    description: 'Takes its time.',
    input: z.object({ n: z.number() }),
    async execute({ n }, { attempt }) {
      executing.push(`${n}/${attempt}`)
      most.push(executing.length)
      await pause(10)
      executing.splice(executing.indexOf(`${n}/${attempt}`), 1)
      return attempt
    },
  })
  const attempts: unknown[] = []
  const agent = createAgent({
    model: scriptedModel([respond(call('slow', { n: 1 }), call('slow', { n: 2 })), respond(say('done'))]),
    tools: [slow],
    toolConcurrency: 2,
    middleware: [
      {
        name: 'twice',
        async *wrapToolCall(call, next) {
          const [first, second] = await Promise.all([settle(next(call)), settle(next(call))])
          attempts.push([first.output, second.output])
          return first
        },
      },
    ],
  })
  await ran(agent.run('Go'))
  expect(attempts).toEqual([
    [1, 2],
    [1, 2],
  ])
  expect(most).toHaveLength(4)
  expect(Math.max(...most)).toBe(2)
})

test('a tool is executed once unless a wrap repeats it, whatever requests the call (C14, A23)', async () => {
  const { flaky, contexts } = failing(0)
  const agent = createAgent({
    model: scriptedModel([respond(call('flaky', { n: 7 })), respond(say('done'))]),
    tools: [flaky],
    middleware: [
      {
        name: 'early',
        async *wrapModel(request, next, run) {
          return yield* map(next(request), (event) => {
            if (event.type === 'tool-call') void Promise.all([run.callTool(event.call), run.callTool(event.call)])
            return event
          })
        },
      },
    ],
  })
  await ran(agent.run('Go'))
  expect(contexts).toMatchObject([{ attempt: 1 }])
})
