import { getEventListeners } from 'node:events'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import {
  AgentError,
  type AgentEvent,
  type AgentOptions,
  type AgentRun,
  createAgent,
  type Message,
  type Middleware,
  type Model,
  memoryStore,
  type Run,
  RunAbortedError,
  type ToolContext,
  tool,
} from '../index.ts'
import { call, collect, cut, fail, respond, say, scriptedModel, wait } from '../testing.ts'

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const forever = () => new Promise<never>(() => undefined)

/** Rejects with the signal's reason, this many milliseconds after it aborts. */
function heeds(signal: AbortSignal, ms = 0): Promise<never> {
  return new Promise((_, reject) => {
    const leave = () => (ms > 0 ? setTimeout(() => reject(signal.reason), ms) : reject(signal.reason))
    signal.addEventListener('abort', leave, { once: true })
  })
}

function toolOf(name: string, execute: (context: ToolContext) => unknown) {
  return tool({ name, description: `It is ${name}.`, input: z.object({}), execute: (_, context) => execute(context) })
}

const quick = toolOf('quick', () => 'done')

/** The present outcome of a promise, without waiting for it. */
function watch<T>(promise: Promise<T>) {
  const seen: { at?: number; value?: T; error?: unknown } = {}
  const start = performance.now()
  promise.then(
    (value) => Object.assign(seen, { value, at: performance.now() - start }),
    (error: unknown) => Object.assign(seen, { error, at: performance.now() - start }),
  )
  return seen
}

const CUT_OFF = 'The run ended while this call was running. The call was cut off, and its effect may have happened.'
const NOT_STARTED = 'Not run: the run ended before this call started.'

function resultsIn(messages: readonly Message[] | undefined) {
  return messages?.flatMap((message) =>
    message.role === 'tool' ? [[message.callId, message.content[0]?.type === 'text' && message.content[0].text]] : [],
  )
}

test('an abort ends the model request, and the run rejects with RunAbortedError (K1, K3)', async () => {
  const controller = new AbortController()
  const model = scriptedModel([respond(say('One two three four', { deltas: 4 }))], {
    pace: { firstToken: 10, betweenTokens: 10 },
  })
  const run = createAgent({ model }).stream('Count', { signal: controller.signal })
  const seen = watch(run.result)
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(25)
  const reason = { why: 'changed my mind' }
  controller.abort(reason)
  await vi.advanceTimersByTimeAsync(0)
  expect(seen.at).toBe(25)
  expect(seen.error).toBeInstanceOf(RunAbortedError)
  expect(seen.error).toMatchObject({
    name: 'AbortError',
    cause: reason,
    messages: [{ role: 'user', content: 'Count' }],
    usage: {},
  })
  expect((seen.error as RunAbortedError).messages).toHaveLength(1)
  expect(model.requests[0]?.signal.aborted).toBe(true)
  const { events, error } = await reading
  expect(error).toBe(seen.error)
  expect(events.filter(({ type }) => type === 'text-delta')).toHaveLength(2)
})

test('if the caller passes no reason, the cause is the reason of the signal (K1)', async () => {
  const controller = new AbortController()
  const running = createAgent({ model: scriptedModel([respond(wait(50))]) }).run('Go', { signal: controller.signal })
  const seen = watch(running)
  await vi.advanceTimersByTimeAsync(10)
  controller.abort()
  await vi.advanceTimersByTimeAsync(0)
  expect(seen.error).toMatchObject({ name: 'AbortError', cause: controller.signal.reason })
})

test('an abort reaches every running tool, and the run rejects once they have settled (K1, A14)', async () => {
  const controller = new AbortController()
  const signals: AbortSignal[] = []
  const work = toolOf('work', ({ signal, run }) => {
    signals.push(signal, (run as Run).signal)
    return heeds(signal, 30)
  })
  const tidy = toolOf('tidy', async ({ signal }) => {
    await heeds(signal).catch(() => undefined)
    return 'tidied up'
  })
  const fails = toolOf('fails', async ({ signal }) => {
    await heeds(signal).catch(() => undefined)
    throw new Error('in the middle')
  })
  const calls = ['quick', 'work', 'tidy', 'fails'].map((name) => call(name, {}, { id: name }))
  const agent = createAgent({ model: scriptedModel([respond(...calls)]), tools: [quick, work, tidy, fails] })
  const seen = watch(agent.run('Go', { signal: controller.signal }))
  await vi.advanceTimersByTimeAsync(100)
  controller.abort('enough')
  await vi.advanceTimersByTimeAsync(29)
  expect(seen).toEqual({})
  await vi.advanceTimersByTimeAsync(1)
  expect(seen).toMatchObject({ at: 130, error: { name: 'AbortError', cause: 'enough' } })
  expect(signals.map(({ aborted, reason }) => [aborted, reason])).toEqual([
    [true, seen.error],
    [true, seen.error],
  ])
  const { messages, abandoned } = seen.error as RunAbortedError
  expect(messages?.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'tool', 'tool'])
  expect(resultsIn(messages)).toEqual([
    ['quick', 'done'],
    ['work', CUT_OFF],
    ['tidy', 'tidied up'],
    ['fails', CUT_OFF],
  ])
  expect(abandoned).toBeUndefined()
})

test('a call that waited for its slot when the run was aborted never starts, and its result states that (K1, A14)', async () => {
  const controller = new AbortController()
  const started: string[] = []
  const work = toolOf('work', ({ callId, signal }) => {
    started.push(callId)
    return heeds(signal)
  })
  const calls = ['one', 'two', 'three'].map((id) => call('work', {}, { id }))
  const agent = createAgent({ model: scriptedModel([respond(...calls)]), tools: [work], toolConcurrency: 1 })
  const seen = watch(agent.run('Go', { signal: controller.signal }))
  await vi.advanceTimersByTimeAsync(10)
  controller.abort()
  await vi.advanceTimersByTimeAsync(5_000)
  expect(started).toEqual(['one'])
  expect(resultsIn((seen.error as RunAbortedError).messages)).toEqual([
    ['one', CUT_OFF],
    ['two', NOT_STARTED],
    ['three', NOT_STARTED],
  ])
})

test('nothing of the run starts after an abort: no hook, no request, no tool (K1)', async () => {
  const controller = new AbortController()
  const log: string[] = []
  const aborts: Middleware = {
    name: 'aborts',
    beforeModel(_, run) {
      log.push('beforeModel')
      if (run.step === 2) controller.abort()
    },
    async *wrapModel(request, next) {
      log.push('wrapModel')
      return yield* next(request)
    },
  }
  const watcher: Middleware = { name: 'watcher', beforeModel: () => void log.push('watcher') }
  const model = scriptedModel([respond(call('quick')), respond(say('done'))])
  const agent = createAgent({ model, tools: [quick], middleware: [aborts, watcher] })
  const { events, error } = await collect(agent.stream('Go', { signal: controller.signal }))
  expect(error).toBeInstanceOf(RunAbortedError)
  expect(log).toEqual(['beforeModel', 'watcher', 'wrapModel', 'beforeModel'])
  expect(model.requests).toHaveLength(1)
  expect(events.at(-1)?.type).toBe('step-start')
})

test('no call starts after one whose wrap aborts the run: a resume made it a second time (K1, H26)', async () => {
  const controller = new AbortController()
  const checkpoints = memoryStore()
  const made: string[] = []
  const send = tool({
    name: 'send',
    description: 's',
    input: z.object({}),
    execute: (_, { callId }) => void made.push(callId),
  })
  const aborts: Middleware = {
    name: 'aborts',
    async *wrapToolCall(one, next) {
      controller.abort()
      return yield* next(one)
    },
  }
  const model = scriptedModel([
    respond(call('send', {}, { id: 'a' }), call('send', {}, { id: 'b' })),
    respond(say('Done')),
  ])
  const agent = createAgent({ model, tools: [send], middleware: [aborts], checkpoints })
  const run = agent.stream('Go', { signal: controller.signal })
  expect((await collect(run)).error).toBeInstanceOf(RunAbortedError)
  expect(made).toEqual([])
  expect((await agent.resume(run.id).result).status).toBe('completed')
  expect(made).toEqual(['a', 'b'])
})

test('nothing follows an abort by the last hook either (K1)', async () => {
  const controller = new AbortController()
  const log: string[] = []
  const aborts: Middleware = {
    name: 'aborts',
    beforeModel: () => controller.abort(),
    async *wrapModel(request, next) {
      log.push('wrapModel')
      return yield* next(request)
    },
  }
  const model = scriptedModel([respond(say('done'))])
  const agent = createAgent({ model, middleware: [aborts] })
  const { events, error } = await collect(agent.stream('Go', { signal: controller.signal }))
  expect(error).toBeInstanceOf(RunAbortedError)
  expect(log).toEqual([])
  expect(events.map(({ type }) => type)).toEqual(['run-start', 'step-start'])
})

test('an abort after the answer, before the decision of the gate, still counts (K1)', async () => {
  const controller = new AbortController()
  const gate: Middleware = {
    name: 'gate',
    beforeFinalAnswer: () => controller.abort(),
  }
  const agent = createAgent({ model: scriptedModel([respond(say('done'))]), middleware: [gate] })
  const { events, error } = await collect(agent.stream('Go', { signal: controller.signal }))
  expect(error).toBeInstanceOf(RunAbortedError)
  expect((error as RunAbortedError).messages).toHaveLength(2)
  expect(events.some(({ type }) => type === 'run-end')).toBe(false)
})

test('an abort after the end changes nothing (K1)', async () => {
  const controller = new AbortController()
  const run = createAgent({ model: scriptedModel([respond(say('done'))]) }).stream('Go', { signal: controller.signal })
  const result = await run.result
  controller.abort()
  await run[Symbol.asyncIterator]().return?.()
  expect(vi.getTimerCount()).toBe(0)
  expect(await run.result).toBe(result)
  expect(result).toMatchObject({ status: 'completed' })
})

test('an abort between the answer and the end still counts (K1)', async () => {
  const controller = new AbortController()
  const aborts: Middleware = {
    name: 'aborts',
    async *wrapAgent(setup, next) {
      const result = yield* next(setup)
      controller.abort()
      return result
    },
  }
  const agent = createAgent({ model: scriptedModel([respond(say('done'))]), middleware: [aborts] })
  await expect(agent.run('Go', { signal: controller.signal })).rejects.toBeInstanceOf(RunAbortedError)
})

test('calls that have not been requested before an abort never start (K1)', async () => {
  const controller = new AbortController()
  const started: string[] = []
  const work = toolOf('work', ({ callId }) => void started.push(callId))
  const aborts: Middleware = {
    name: 'aborts',
    async *wrapModel() {
      controller.abort()
      const asked = { type: 'tool-call', id: 'one', name: 'work', input: {} } as const
      return { role: 'assistant', content: [asked], finishReason: 'tool-calls' }
    },
  }
  const agent = createAgent({ model: scriptedModel([]), tools: [work], middleware: [aborts] })
  const { error } = await collect(agent.stream('Go', { signal: controller.signal }))
  expect(error).toBeInstanceOf(RunAbortedError)
  expect(started).toEqual([])
  expect(resultsIn((error as RunAbortedError).messages)).toEqual([['one', NOT_STARTED]])
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
              return yield* next({ ...request, messages: [] })
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

test('with a signal already aborted nothing starts: no hook, no request, no tool, no event (K2)', async () => {
  const hooks: string[] = []
  const watcher: Middleware = {
    name: 'watcher',
    beforeAgent: () => void hooks.push('beforeAgent'),
    beforeModel: () => void hooks.push('beforeModel'),
    async *wrapAgent(setup, next) {
      hooks.push('wrapAgent')
      return yield* next(setup)
    },
  }
  const model = scriptedModel([respond(call('quick'))])
  const agent = createAgent({ model, tools: [quick], middleware: [watcher] })
  const signal = AbortSignal.abort('too late')
  const { events, error } = await collect(agent.stream('Go', { signal }))
  expect(error).toBeInstanceOf(RunAbortedError)
  expect(error).toMatchObject({ cause: 'too late', messages: [{ role: 'user', content: 'Go' }], usage: {} })
  expect(events).toEqual([])
  expect(hooks).toEqual([])
  expect(model.requests).toHaveLength(0)
})

test('a message whose stream had ended is among the messages, with a result for every call (K3, A24)', async () => {
  const controller = new AbortController()
  const slow: Middleware = { name: 'slow', afterModel: () => sleep(100).then(() => undefined) }
  const model = scriptedModel([respond(say('First.'), call('quick', {}, { id: 'one' }))])
  const agent = createAgent({ model, tools: [quick], middleware: [slow] })
  const seen = watch(agent.run('Go', { signal: controller.signal }))
  await vi.advanceTimersByTimeAsync(50)
  controller.abort()
  await vi.advanceTimersByTimeAsync(100)
  const { messages } = seen.error as RunAbortedError
  expect(messages?.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
  expect(resultsIn(messages)).toEqual([['one', NOT_STARTED]])
})

test('a message whose stream had not ended is not among the messages, whatever it had begun (K3)', async () => {
  const controller = new AbortController()
  const model = scriptedModel([respond(call('quick')), respond(say('Sec'), call('quick'), wait(100), say('ond'))])
  const seen = watch(createAgent({ model, tools: [quick] }).run('Go', { signal: controller.signal }))
  await vi.advanceTimersByTimeAsync(50)
  controller.abort()
  await vi.advanceTimersByTimeAsync(0)
  const { messages } = seen.error as RunAbortedError
  expect(messages?.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
})

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

/** Starts sealed calls while the model streams, and calls the model again when it fails. */
const earlyAndAgain: Middleware = {
  name: 'earlyAndAgain',
  async *wrapModel(request, next, run) {
    for (;;) {
      try {
        const flow = next(request)
        for (;;) {
          const step = await flow.next()
          if (step.done) return step.value
          if (step.value.type === 'tool-call') run.callTool(step.value.call).catch(() => undefined)
          yield step.value
        }
      } catch (error) {
        if (run.signal.aborted) throw error
      }
    }
  },
}

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

class Fatal extends AgentError {
  override readonly name: string = 'Fatal'
}

test('a tool that throws an AgentError ends the run with it once the other calls were aborted and have settled (A12)', async () => {
  const fatal = new Fatal('that was it')
  const reasons: unknown[] = []
  const tools = [
    toolOf('fatal', async () => {
      await sleep(100)
      throw fatal
    }),
    toolOf('sibling', async ({ signal }) => {
      await heeds(signal, 50).catch((reason: unknown) => reasons.push(reason))
      return 'tidied up'
    }),
    toolOf('work', ({ signal }) => heeds(signal, 20)),
    quick,
  ]
  const calls = ['sibling', 'quick', 'fatal', 'work'].map((name) => call(name, {}, { id: name }))
  const model = scriptedModel([respond(...calls), respond(say('never'))])
  const run = createAgent({ model, tools }).stream('Go')
  const seen = watch(run.result)
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(149)
  expect(seen).toEqual({})
  await vi.advanceTimersByTimeAsync(1)
  expect(seen).toMatchObject({ at: 150 })
  expect(seen.error).toBe(fatal)
  expect(reasons).toEqual([fatal])
  expect(resultsIn(fatal.messages)).toEqual([
    ['sibling', 'tidied up'],
    ['quick', 'done'],
    ['fatal', CUT_OFF],
    ['work', CUT_OFF],
  ])
  expect(fatal.abandoned).toBeUndefined()
  expect((await reading).error).toBe(fatal)
  expect(model.requests).toHaveLength(1)
})

test('other calls that ignore the abort are abandoned after the grace time, and queued ones never start (A12, K12)', async () => {
  const fatal = new Fatal('that was it')
  const started: string[] = []
  const tools = [
    toolOf('deaf', ({ callId }) => {
      started.push(callId)
      return forever()
    }),
    toolOf('fatal', async () => {
      await sleep(100)
      throw fatal
    }),
  ]
  const calls = ['one', 'two', 'three'].map((id) => call(id === 'two' ? 'fatal' : 'deaf', {}, { id }))
  const agent = createAgent({ model: scriptedModel([respond(...calls)]), tools, toolConcurrency: 2 })
  const seen = watch(agent.run('Go'))
  await vi.advanceTimersByTimeAsync(1_099)
  expect(seen).toEqual({})
  await vi.advanceTimersByTimeAsync(1)
  expect(seen.error).toBe(fatal)
  expect(fatal.abandoned).toEqual(['one'])
  expect(started).toEqual(['one'])
  expect(resultsIn(fatal.messages)).toEqual([
    ['one', CUT_OFF],
    ['two', CUT_OFF],
    ['three', NOT_STARTED],
  ])
})

test('an error that ends a run reaches its wraps when all other calls have settled (A12)', async () => {
  const fatal = new Fatal('that was it')
  const log: unknown[] = []
  const tools = [
    toolOf('fatal', () => {
      throw fatal
    }),
    toolOf('work', ({ signal }) => heeds(signal, 40).finally(() => log.push('settled'))),
  ]
  const wrap: Middleware = {
    name: 'wrap',
    async *wrapAgent(setup, next) {
      try {
        return yield* next(setup)
      } catch (error) {
        log.push(error)
        throw error
      }
    },
  }
  const model = scriptedModel([respond(call('fatal'), call('work'))])
  const { error } = await settled(createAgent({ model, tools, middleware: [wrap] }).stream('Go'), 2_000)
  expect(error).toBe(fatal)
  expect(log).toEqual(['settled', fatal])
})

test('a call that failed fatally before its model call succeeded ends the run when that succeeds (A12)', async () => {
  const fatal = new Fatal('that was it')
  const tools = [
    toolOf('fatal', () => {
      throw fatal
    }),
    toolOf('work', ({ signal }) => heeds(signal)),
  ]
  const model = scriptedModel([respond(call('fatal', {}, { id: 'one' }), call('work', {}, { id: 'two' }), wait(500))])
  const agent = createAgent({ model, tools, middleware: [earlyAndAgain] })
  const seen = watch(agent.run('Go'))
  await vi.advanceTimersByTimeAsync(499)
  expect(seen).toEqual({})
  await vi.advanceTimersByTimeAsync(1)
  expect(seen.error).toBe(fatal)
  expect(resultsIn(fatal.messages)).toEqual([
    ['one', CUT_OFF],
    ['two', CUT_OFF],
  ])
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

test('side calls are aborted, too, when a tool ends the run (A12)', async () => {
  const fatal = new Fatal('that was it')
  const tools = [
    toolOf('fatal', () => {
      throw fatal
    }),
    toolOf('work', ({ signal }) => heeds(signal)),
  ]
  const aside: Middleware = {
    name: 'aside',
    beforeModel(_, run) {
      run.callTool({ type: 'tool-call', id: 'aside', name: 'work', input: {} }).catch(() => undefined)
    },
  }
  const agent = createAgent({ model: scriptedModel([respond(call('fatal'))]), tools, middleware: [aside] })
  const { error } = await settled(agent.stream('Go'), 2_000)
  expect(error).toBe(fatal)
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
  expect(resultsIn((seen.error as RunAbortedError).messages)).toEqual([['one', CUT_OFF]])
})

async function settled(run: AgentRun, ms: number) {
  const reading = collect<AgentEvent, unknown>(run)
  const seen = watch(reading)
  await vi.advanceTimersByTimeAsync(ms)
  return seen.value ?? { events: [], error: 'it is still going on' }
}

interface Ending {
  readonly options?: Partial<AgentOptions>
  readonly input?: string | readonly Message[]
  readonly abortAt?: number
  readonly status: string
}

const endings: Readonly<Record<string, Ending>> = {
  'an answer': { status: 'completed' },
  'an answer after tools': {
    options: { model: scriptedModel([respond(call('quick'), call('fails')), respond(say('done'))]) },
    status: 'completed',
  },
  'a direct result': { options: { model: scriptedModel([respond(call('direct'))]) }, status: 'completed' },
  'an answer after an early call was abandoned': {
    options: {
      model: scriptedModel([respond(call('deaf'), wait(5), cut()), respond(say('done'))]),
      middleware: [earlyAndAgain],
    },
    status: 'completed',
  },
  'an empty input': { input: [], status: 'InputError' },
  'an input that does not pair': {
    input: [{ role: 'tool', callId: 'x', name: 'quick', content: [] }],
    status: 'HistoryError',
  },
  'a wrong set-up': {
    options: { middleware: [{ name: 'wrong', beforeAgent: (setup) => ({ ...setup, maxSteps: 0 }) }] },
    status: 'MiddlewareError',
  },
  'a hook that throws': {
    options: { middleware: [{ name: 'wrong', afterModel: () => Promise.reject(new Error('no')) }] },
    status: 'MiddlewareError',
  },
  'the step limit': {
    options: { model: scriptedModel([respond(call('quick'))]), maxSteps: 1 },
    status: 'MaxStepsError',
  },
  'a failed request': { options: { model: scriptedModel([respond(fail())]) }, status: 'ModelError' },
  'a stream cut off': { options: { model: scriptedModel([respond(say('a'), wait(5), cut())]) }, status: 'ModelError' },
  'a tool’s AgentError': { options: { model: scriptedModel([respond(call('fatal'), call('deaf'))]) }, status: 'Fatal' },
  'an abort before the start': { abortAt: -1, status: 'AbortError' },
  'an abort while the model speaks': { abortAt: 5, status: 'AbortError' },
  'an abort while tools work': {
    options: { model: scriptedModel([respond(call('work'), call('quick'))]) },
    abortAt: 50,
    status: 'AbortError',
  },
  'an abort that a tool ignores': {
    options: { model: scriptedModel([respond(call('deaf'))]) },
    abortAt: 50,
    status: 'AbortError',
  },
  'an abort that a hook ignores': {
    options: { middleware: [{ name: 'stuck', beforeModel: forever }] },
    abortAt: 50,
    status: 'AbortError',
  },
}

test.for(Object.keys(endings))(
  'after %s no timer is left, and the signal has only the listeners it had before (A25)',
  async (name) => {
    const { options, input = 'Go', abortAt, status } = endings[name] as Ending
    const controller = new AbortController()
    const mine = () => undefined
    controller.signal.addEventListener('abort', mine)
    const tools = [
      quick,
      toolOf('fails', () => {
        throw new Error('no')
      }),
      toolOf('work', ({ signal }) => heeds(signal)),
      toolOf('deaf', forever),
      toolOf('fatal', () => {
        throw new Fatal('that was it')
      }),
      { ...quick, name: 'direct', returnDirect: true },
    ]
    const model = scriptedModel([respond(wait(10), say('done'))])
    const agent = createAgent({ model, tools, ...options })
    if (abortAt === -1) controller.abort()
    const { signal } = controller
    const running = agent.run(input, { signal })
    const left = () => ({ timers: vi.getTimerCount(), listeners: getEventListeners(signal, 'abort') })
    const atEnd = running.then(left, left)
    const seen = watch(running)
    if (abortAt !== -1) expect(getEventListeners(signal, 'abort').length).toBeGreaterThan(1)
    await vi.advanceTimersByTimeAsync(abortAt === undefined ? 10 : Math.max(abortAt, 0))
    if (abortAt !== undefined) controller.abort()
    await vi.advanceTimersByTimeAsync(2_000)
    expect(seen.value?.status ?? (seen.error as Error | undefined)?.name).toBe(status)
    expect(await atEnd).toEqual({ timers: 0, listeners: [mine] })
  },
)

test('the run ends with the thrown object, or with an error that has it as its cause (A24)', async () => {
  const thrown = new RangeError('no')
  const model: Model = {
    provider: 'own',
    id: 'own-1',
    stream: () => {
      throw thrown
    },
  }
  const byModel = await createAgent({ model })
    .run('Go')
    .catch((error: unknown) => error)
  expect(byModel).toMatchObject({ name: 'ModelError', messages: [{ content: 'Go' }], usage: {} })
  expect((byModel as Error).cause).toBe(thrown)

  const hook: Middleware = {
    name: 'hook',
    beforeModel: () => {
      throw thrown
    },
  }
  const agent = createAgent({ model, middleware: [hook] })
  const byHook = await agent.run('Go').catch((error: unknown) => error)
  expect(byHook).toMatchObject({ name: 'MiddlewareError', messages: [{ content: 'Go' }], usage: {} })
  expect((byHook as Error).cause).toBe(thrown)
})
