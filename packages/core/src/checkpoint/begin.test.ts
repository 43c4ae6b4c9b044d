import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import {
  type AgentOptions,
  CheckpointConflictError,
  CheckpointCorruptError,
  createAgent,
  hasFinalAnswer,
  interrupt,
  type Middleware,
  memoryStore,
  storedResult,
  tool,
} from '../index.ts'

// A run that is stored before any of it runs.

const send = tool({ name: 'send', description: 'Sends', input: z.object({}), execute: () => 'sent' })

/** An agent, and a log of what was called in it. */
function agentOf(options: Partial<AgentOptions> = {}) {
  const called: string[] = []
  const notes: Middleware = {
    name: 'notes',
    beforeAgent: () => void called.push('beforeAgent'),
    async *wrapAgent(setup, next) {
      called.push('wrapAgent')
      return yield* next(setup)
    },
    beforeModel: () => void called.push('beforeModel'),
  }
  const model = scriptedModel([respond(call('send', {}, { id: 'c' })), respond(say('Done'))])
  const agent = createAgent({
    name: 'mail',
    instructions: 'Be brief.',
    model,
    tools: [send],
    middleware: [notes],
    ...options,
  })
  return { agent, model, called }
}

test('a run that is begun is stored, nothing of it has run, and another process runs it as from its input (DU1)', async () => {
  const checkpoints = memoryStore()
  const here = agentOf({ checkpoints })
  const checkpoint = await here.agent.begin('Go', { id: 'order 7/\0' })
  expect(checkpoint).toMatchObject({
    runId: 'order 7/\0',
    agent: 'mail',
    revision: 1,
    status: 'running',
    messages: [{ role: 'user', content: 'Go' }],
    interrupts: [],
    calls: [],
    steps: { begun: 0 },
  })
  expect(checkpoint).not.toHaveProperty('trace')
  expect(await checkpoints.load('order 7/\0')).toEqual(checkpoint)
  expect(hasFinalAnswer(checkpoint)).toBe(false)
  expect([here.called, here.model.requests]).toEqual([[], []])

  const there = agentOf({ checkpoints })
  const result = await there.agent.resume('order 7/\0').result
  const { checkpoint: _, ...direct } = await agentOf().agent.run('Go')
  expect(result).toEqual({ ...direct })
  expect(there.called).toEqual(['beforeAgent', 'wrapAgent', 'beforeModel', 'beforeModel'])
  expect(await here.agent.resume('order 7/\0').result).toEqual(result)
})

test('if several processes begin one id, one succeeds, its checkpoint stays, and the others leave no timer (DU1, L14)', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const checkpoints = memoryStore()
  const { agent } = agentOf({ checkpoints })
  const begun = await Promise.allSettled(['a', 'b', 'c'].map((input) => agent.begin(input, { id: 'mine' })))
  expect(begun.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
  const conflict = { name: 'CheckpointConflictError', id: 'mine', expected: 0, found: 1 }
  await expect(agent.begin('d', { id: 'mine' })).rejects.toMatchObject(conflict)
  await agent.resume('mine').result
  await expect(agent.begin('e', { id: 'mine' })).rejects.toThrow(CheckpointConflictError)
  expect(await checkpoints.load('mine')).toMatchObject({
    status: 'completed',
    messages: [{ content: 'a' }, {}, {}, {}],
  })
  expect(vi.getTimerCount()).toBe(0)
})

test('if two processes continue a begun run, one succeeds (DU1, L14)', async () => {
  const checkpoints = memoryStore()
  const { agent } = agentOf({ checkpoints })
  const { runId } = await agent.begin('Go')
  const ended = await Promise.allSettled([agent.resume(runId).result, agent.resume(runId).result])
  expect(ended.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
})

test('without a store a run continues from the checkpoint itself (DU1)', async () => {
  const { agent } = agentOf()
  const history = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [{ type: 'text', text: 'Hello' }], finishReason: 'stop' },
    { role: 'user', content: 'Go' },
  ] as const
  const checkpoint = await agent.begin(history)
  expect(checkpoint).toMatchObject({ revision: 0, messages: history })
  const copy = JSON.parse(JSON.stringify(checkpoint))
  const result = await agent.resume(copy).result
  expect([result.text, result.messages.length]).toEqual(['Done', 6])
})

test('a store in the options replaces the store of the agent (DU1)', async () => {
  const [own, given] = [memoryStore(), memoryStore()]
  const { agent } = agentOf({ checkpoints: own })
  await agent.begin('Go', { id: 'r', checkpoints: given })
  expect([await own.load('r'), await given.load('r')]).toMatchObject([undefined, { runId: 'r' }])
})

test('nothing is stored if the input or an option is wrong, or the store fails (DU1, A2)', async () => {
  const checkpoints = memoryStore()
  const { agent } = agentOf({ checkpoints })
  await expect(agent.begin('', { id: 'r' })).rejects.toMatchObject({ name: 'InputError', problem: 'empty' })
  for (const [options, option, problem] of [
    [{ id: '' }, 'id', 'must be a non-empty string'],
    [{ id: 'r', checkpoints: {} }, 'checkpoints', 'must be a store'],
    [{ id: 'r', context: { tenant: 1 } }, 'context', 'is not an option of begin; the options are: id, checkpoints'],
    [{ runId: 'r' }, 'runId', 'did you mean id?'],
  ] as const) {
    const error = { name: 'ConfigError', option, message: expect.stringContaining(problem) }
    await expect(agent.begin('Go', options as object)).rejects.toMatchObject(error)
  }
  expect(await checkpoints.load('r')).toBeUndefined()

  const cause = new Error('disk full')
  const full = { ...memoryStore(), save: () => Promise.reject(cause) }
  const error = { name: 'CheckpointStoreError', operation: 'save', id: 'r', cause }
  await expect(agent.begin('Go', { id: 'r', checkpoints: full })).rejects.toMatchObject(error)
})

test('a run that is begun has no span; the span of its first resume has its instructions and input, and no link (DU1, L12)', async () => {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const { agent } = agentOf({ telemetry: { tracerProvider, captureContent: true } })
  const checkpoint = await agent.begin('Go')
  expect(exporter.getFinishedSpans()).toEqual([])
  await agent.resume(checkpoint).result
  const span = exporter.getFinishedSpans().find(({ name }) => name === 'invoke_agent mail')
  expect(span?.links).toEqual([])
  expect(span?.attributes).toMatchObject({
    'gen_ai.system_instructions': JSON.stringify([{ type: 'text', content: 'Be brief.' }]),
    'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: 'Go' }] }]),
  })
})

test('the span of a run that was begun in a span links to that span, and has the input; a later resume links to the run (DU1, W32)', async () => {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const send = tool({ name: 'send', description: 'Sends', input: z.object({}), execute: () => interrupt('Really?') })
  const { agent } = agentOf({ telemetry: { tracerProvider, captureContent: true }, tools: [send] })
  const request = tracerProvider.getTracer('server').startSpan('POST /runs')
  const contexts = new AsyncLocalStorageContextManager().enable()
  context.setGlobalContextManager(contexts)
  try {
    const place = trace.setSpan(context.active(), request)
    const begun = await context.with(place, () => agent.begin('Go'))
    request.end()
    const asked = await agent.resume(begun).result
    if (asked.status !== 'interrupted') throw new Error('it asks')
    await agent.resume(asked.checkpoint, { [asked.interrupts[0]?.id ?? '']: 'yes' }).result
  } finally {
    context.disable()
  }
  const [first, second] = exporter.getFinishedSpans().filter(({ name }) => name === 'invoke_agent mail')
  expect(first?.links.map(({ context }) => context.spanId)).toEqual([request.spanContext().spanId])
  expect(first?.parentSpanContext).toBeUndefined()
  expect(first?.attributes).toHaveProperty('gen_ai.input.messages')
  expect(second?.links.map(({ context }) => context.spanId)).toEqual([first?.spanContext().spanId])
  expect(second?.attributes).not.toHaveProperty('gen_ai.input.messages')
})

test('the result in the checkpoint of a completed run is that of its run, without a span or a hook (W32)', async () => {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const checkpoints = memoryStore()
  const { agent, called } = agentOf({ telemetry: { tracerProvider }, checkpoints })
  const begun = await agent.begin('Go', { id: 'r' })
  expect(storedResult(begun)).toBeUndefined()
  const result = await agent.resume('r').result
  const before = [exporter.getFinishedSpans().length, called.length]
  expect(storedResult(await checkpoints.load('r'))).toEqual(result)
  expect([exporter.getFinishedSpans().length, called.length]).toEqual(before)
  expect(() => storedResult({ runId: 'r' })).toThrow(CheckpointCorruptError)
})
