import { SpanStatusCode } from '@opentelemetry/api'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  type Agent,
  type AssistantMessage,
  createAgent,
  type Flow,
  type Middleware,
  type Model,
  ModelError,
  type ModelEvent,
  map,
  settle,
  type ToolContext,
  textOf,
  tool,
} from '../index.ts'
import { call, collect, fail, respond, say, scriptedModel, wait } from '../testing.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const pause = (ms: number, signal?: AbortSignal) =>
  new Promise((resolve, reject) => {
    setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => reject(signal.reason))
  })

const answer = (text: string): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  finishReason: 'stop',
})

/** Runs to the end on the fake clock. */
async function ran<Result>(running: Promise<Result>): Promise<Result> {
  await vi.runAllTimersAsync()
  return running
}

/** Retries until the model answers. */
const again: Middleware = {
  name: 'again',
  async *wrapModel(request, next) {
    for (;;) {
      try {
        return yield* next(request)
      } catch (error) {
        if (!(error instanceof ModelError)) throw error
      }
    }
  },
}

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

/** A model that streams every 100 ms, and logs when it is aborted and when it has ended. */
function talking(seen: string[], name = 'model'): Model {
  return {
    provider: 'own',
    id: name,
    async *stream({ signal }): Flow<ModelEvent, AssistantMessage> {
      signal.addEventListener('abort', () => void seen.push(`${name} aborted`))
      try {
        for (let n = 1; n <= 3; n++) {
          await pause(100, signal)
          yield { type: 'text-delta', delta: `${n}` }
        }
        return answer('123')
      } finally {
        seen.push(`${name} finally`)
      }
    },
  }
}

/** Logs when it has ended. */
const inside = (seen: string[]): Middleware => ({
  name: 'inside',
  async *wrapModel(request, next) {
    try {
      return yield* next(request)
    } finally {
      seen.push('inside finally')
    }
  },
})

/** Wraps that leave after the first event, each in another way. */
const leaving: readonly (readonly [string, NonNullable<Middleware['wrapModel']>])[] = [
  [
    'by break',
    async function* (request, next) {
      for await (const event of next(request)) {
        yield event
        break
      }
      return answer('enough')
    },
  ],
  [
    'by a return out of its loop',
    async function* (request, next) {
      for await (const event of next(request)) {
        yield event
        return answer('enough')
      }
      return answer('nothing')
    },
  ],
  [
    'and just stops reading',
    async function* (request, next) {
      const flow = next(request)
      await flow.next()
      return answer('enough')
    },
  ],
  [
    'while it waits for an event',
    async function* (request, next) {
      const flow = next(request)
      await flow.next()
      await Promise.race([flow.next(), pause(50)])
      return answer('enough')
    },
  ],
]

test.for(leaving)(
  'a wrap that leaves %s closes what is inside: request and finally blocks (C15)',
  async ([, wrapModel]) => {
    const seen: string[] = []
    const agent = createAgent({
      model: talking(seen),
      middleware: [
        { name: 'after', afterModel: () => void seen.push('afterModel') },
        {
          name: 'outside',
          async *wrapModel(request, next) {
            const message = yield* next(request)
            seen.push('outside')
            return message
          },
        },
        { name: 'leaves', wrapModel },
        inside(seen),
      ],
    })
    const { events, result } = await ran(collect(agent.stream('Go')))
    const [first, second, ...rest] = seen.filter((line) => line !== 'inside finally')
    expect(new Set([first, second])).toEqual(new Set(['model aborted', 'model finally']))
    expect(rest).toEqual(['outside', 'afterModel'])
    expect(seen.indexOf('inside finally')).toBeLessThan(seen.indexOf('outside'))
    expect(result?.text).toBe('enough')
    expect(events.map(({ type }) => type)).not.toContain('attempt-failed')
  },
)

test('a wrap that throws closes what is inside before the outer wraps see the throw (C15)', async () => {
  const seen: string[] = []
  const agent = createAgent({
    model: talking(seen),
    middleware: [
      {
        name: 'outside',
        async *wrapModel(request, next) {
          try {
            return yield* next(request)
          } catch {
            seen.push('outside')
            return answer('never mind')
          }
        },
      },
      {
        name: 'throws',
        async *wrapModel(request, next) {
          return yield* map(next(request), () => {
            throw new Error('I do not like it')
          })
        },
      },
      inside(seen),
    ],
  })
  const result = await ran(agent.run('Go'))
  expect(result.text).toBe('never mind')
  expect(seen).toEqual(['model aborted', 'model finally', 'inside finally', 'outside'])
})

test('of two parallel attempts the one that is not awaited is cancelled when the wrap has ended (C13, C15)', async () => {
  const seen: string[] = []
  const [slow, quick] = [talking(seen, 'slow'), scriptedModel([respond(wait(150), say('quick'))], { id: 'quick' })]
  const agent = createAgent({
    model: slow,
    middleware: [
      {
        name: 'races',
        async *wrapModel(request, next) {
          return await Promise.race([settle(next(request)), settle(next({ ...request, model: quick }))])
        },
        afterModel: () => void seen.push(`afterModel at ${performance.now() - start}`),
      },
      again,
    ],
  })
  const start = performance.now()
  const { events, result } = await ran(collect(agent.stream('Go')))
  expect(result?.text).toBe('quick')
  expect(seen).toEqual(['slow aborted', 'slow finally', 'afterModel at 150'])
  expect(events.flatMap((event) => ('attempt' in event ? [`${event.type} ${event.attempt}`] : []))).toEqual([
    'attempt-start 1',
    'attempt-start 2',
    'step-end 2',
  ])
})

test('a wrapToolCall that leaves aborts only the execution it leaves, not the call (C15)', async () => {
  const seen: string[] = []
  const slow = tool({
    name: 'slow',
    description: 'Takes its time.',
    input: z.object({ n: z.number() }),
    async *execute({ n }, { signal }) {
      signal.addEventListener('abort', () => void seen.push(`aborted ${n}`))
      try {
        for (let i = 0; i < 3 && !signal.aborted; i++) {
          await pause(100)
          yield { progress: i / 3 }
        }
        return `done ${n}`
      } finally {
        seen.push(`finally ${n}`)
      }
    },
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('slow', { n: 1 }), call('slow', { n: 2 })), respond(say('done'))]),
    tools: [slow],
    middleware: [
      {
        name: 'impatient',
        async *wrapToolCall(call, next) {
          if (call.id !== 'call_1_1') return yield* next(call)
          await Promise.race([settle(next(call)), pause(150)])
          return { role: 'tool', callId: call.id, name: call.name, content: [{ type: 'text', text: 'too slow' }] }
        },
      },
    ],
  })
  const result = await ran(agent.run('Go'))
  expect(result.messages.slice(2, 4).map(textOf)).toEqual(['too slow', 'done 2'])
  expect(seen).toEqual(['aborted 1', 'finally 1', 'finally 2'])
})

test('a wrapToolCall that leaves aborts the signal of every wrap inside it, for that try only (C14, C15)', async () => {
  const seen: string[] = []
  const watching = (name: string): Middleware => {
    let tries = 0
    return {
      name,
      async *wrapToolCall(call, next, { signal }) {
        const which = `${name} ${++tries}`
        signal.addEventListener('abort', () => void seen.push(`${which}: ${String(signal.reason)}`))
        return yield* next(call)
      },
    }
  }
  const asking: Middleware = {
    name: 'asking',
    async *wrapToolCall(call, next, { signal }) {
      await pause(seen.length > 0 ? 100 : 10_000, signal)
      return yield* next(call)
    },
  }
  const quick = tool({
    name: 'quick',
    description: 'Q',
    input: z.object({}),
    execute: () => void seen.push(`executed at ${performance.now() - start}`),
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('quick', {})), respond(say('done'))]),
    tools: [quick],
    middleware: [
      watching('outside'),
      {
        name: 'again',
        async *wrapToolCall(call, next) {
          const first = next(call)
          await Promise.race([settle(first), pause(150)])
          await first.return(undefined as never)
          seen.push(`closed at ${performance.now() - start}`)
          return yield* next(call)
        },
      },
      watching('inside'),
      asking,
    ],
  })
  const start = performance.now()
  await ran(agent.run('Go'))
  expect(seen).toEqual(['inside 1: Error: the wrap that started this has ended', 'closed at 150', 'executed at 250'])
})

test('a signal that a wrap or tool reads after it was left is aborted, and what it then throws is not a failure (C15)', async () => {
  const seen: string[] = []
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const slow = tool({
    name: 'slow',
    description: 'Takes its time.',
    input: z.object({}),
    async execute(_, { run }) {
      await pause(10_000, run?.signal)
    },
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('slow', {})), respond(say('done'))]),
    tools: [slow],
    telemetry: { tracerProvider },
    middleware: [
      {
        name: 'impatient',
        async *wrapToolCall(call, next) {
          await Promise.race([settle(next(call)), pause(150)])
          return { role: 'tool', callId: call.id, name: call.name, content: [{ type: 'text', text: 'too slow' }] }
        },
      },
      {
        name: 'inside',
        async *wrapToolCall(call, next, run) {
          try {
            return yield* next(call)
          } finally {
            seen.push(`${run.signal.aborted ? 'aborted' : 'not aborted'} at ${performance.now() - start}`)
          }
        },
      },
    ],
  })
  const start = performance.now()
  await ran(agent.run('Go'))
  expect(seen).toEqual(['aborted at 150'])
  const failed = exporter.getFinishedSpans().filter(({ status }) => status.code === SpanStatusCode.ERROR)
  expect(failed.map(({ name }) => name)).toEqual([])
})

test('an execution that waits for a slot when its wrap leaves never executes (C15)', async () => {
  const executed: number[] = []
  const slow = tool({
    name: 'slow',
    description: 'Takes its time.',
    input: z.object({ n: z.number() }),
    async execute({ n }) {
      executed.push(n)
      await pause(100)
    },
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('slow', { n: 1 }), call('slow', { n: 2 })), respond(say('done'))]),
    tools: [slow],
    toolConcurrency: 1,
    middleware: [
      {
        name: 'impatient',
        async *wrapToolCall(call, next) {
          if (call.id !== 'call_1_2') return yield* next(call)
          await Promise.race([settle(next(call)), pause(50)])
          return { role: 'tool', callId: call.id, name: call.name, content: [{ type: 'text', text: 'too slow' }] }
        },
      },
    ],
  })
  const result = await ran(agent.run('Go'))
  expect(result.messages.slice(2, 4).map(textOf)).toEqual(['', 'too slow'])
  expect(executed).toEqual([1])
})

const leave = (ms: number): Middleware => ({
  name: 'impatient',
  async *wrapAgent(setup, next) {
    const flow = next(setup)
    const late = pause(ms).then(() => ({ done: true, value: undefined }) as const)
    for (;;) {
      const step = await Promise.race([flow.next(), late])
      if (!step.done) yield step.value
      else if (step.value) return step.value
      else throw new Error('too late')
    }
  },
})

test('a wrapAgent that leaves cancels the model request and the running tools (C15)', async () => {
  const seen: string[] = []
  const heeds = tool({
    name: 'heeds',
    description: 'Waits for its signal.',
    input: z.object({}),
    execute: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          seen.push('tool aborted')
          reject(signal.reason)
        })
      }),
  })
  /** Collects the events, and returns the time as well. */
  const timed = async (agent: Agent) => {
    const start = performance.now()
    const collecting = collect(agent.stream('Go')).then(({ error }) => ({ error, ms: performance.now() - start }))
    return ran(collecting)
  }
  const error = { name: 'MiddlewareError', cause: new Error('too late') }
  const asking = createAgent({ model: talking(seen), middleware: [leave(150)] })
  expect(await timed(asking)).toMatchObject({ error, ms: 150 })
  expect(seen).toEqual(['model aborted', 'model finally'])

  const model = scriptedModel([respond(call('heeds'))])
  const calling = createAgent({ model, tools: [heeds], middleware: [leave(150)] })
  const messages = [{ role: 'user' }, { role: 'assistant' }, { role: 'tool', isError: true }]
  expect(await timed(calling)).toMatchObject({ error: { ...error, messages }, ms: 150 })
  expect(seen.slice(2)).toEqual(['tool aborted'])
})

test.for(['beforeModel', 'afterModel'] as const)(
  'steps that a wrapAgent leaves in %s make no model call and no tool call after it (C15)',
  async (hook) => {
    const executed: string[] = []
    const look = tool({
      name: 'look',
      description: 'Looks.',
      input: z.object({}),
      execute: () => void executed.push('look'),
    })
    const slow: Middleware = { name: 'slow', [hook]: () => pause(200).then(() => undefined) }
    const model = scriptedModel([respond(call('look'))])
    const agent = createAgent({ model, tools: [look], middleware: [leave(150), slow] })
    const { error } = await ran(collect(agent.stream('Go')))
    expect(error).toMatchObject({ name: 'MiddlewareError', cause: new Error('too late') })
    expect(model.requests).toHaveLength(hook === 'beforeModel' ? 0 : 1)
    expect(executed).toEqual([])
  },
)

test('code that ignores its closing delays the run no longer than the grace time (C15)', async () => {
  const stubborn = tool({
    name: 'stubborn',
    description: 'Does not listen.',
    input: z.object({}),
    execute: () => pause(10_000),
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('stubborn')), respond(say('done'))]),
    tools: [stubborn],
    grace: 300,
    middleware: [
      {
        name: 'impatient',
        async *wrapToolCall(call, next) {
          await Promise.race([settle(next(call)), pause(50)])
          return { role: 'tool', callId: call.id, name: call.name, content: [{ type: 'text', text: 'too slow' }] }
        },
      },
    ],
  })
  const start = performance.now()
  const run = agent.stream('Go')
  let ended = 0
  void run.result.then(() => {
    ended = performance.now() - start
  })
  const { result } = await ran(collect(run))
  expect(result?.messages.map(textOf)).toEqual(['Go', '', 'too slow', 'done'])
  expect(ended).toBe(350)
})
