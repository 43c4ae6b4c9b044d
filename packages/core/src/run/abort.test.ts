import { call, collect, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { heeds, quick, toolOf, watch } from '../../test/aborted-runs.ts'
import { sleep } from '../../test/clock.ts'
import { CUT_OFF, NOT_STARTED, resultsIn } from '../../test/results.ts'
import { createAgent, type Middleware, memoryStore, type Run, RunAbortedError, tool } from '../index.ts'

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

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

test('the messages of an aborted run follow from its events, also when a hook inside a wrapAgent does not end (K1, B3)', async () => {
  const controller = new AbortController()
  const through: Middleware = {
    name: 'through',
    async *wrapAgent(setup, next) {
      return yield* next(setup)
    },
  }
  const hangs: Middleware = { name: 'hangs', afterModel: () => new Promise(() => undefined) }
  const model = scriptedModel([respond(say('Well'))])
  const run = createAgent({ model, middleware: [through, hangs] }).stream('Go', { signal: controller.signal })
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(50)
  run.send('And this')
  controller.abort()
  await vi.advanceTimersByTimeAsync(2_000)
  const { events, error } = await reading
  const told = events.flatMap((event) => (event.type === 'message' ? [event.message] : []))
  const messages = (error as RunAbortedError).messages ?? []
  expect(messages.at(-1)).toEqual({ role: 'user', content: 'And this' })
  expect([{ role: 'user', content: 'Go' }, ...told]).toEqual(messages)
})
