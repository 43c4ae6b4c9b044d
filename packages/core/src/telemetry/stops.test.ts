import { call, collect, respond, type ScriptedResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { early } from '../../test/early-calls.ts'
import { durationOf, observed } from '../../test/observed.ts'
import {
  type AgentResult,
  type Checkpoint,
  createAgent,
  interrupt,
  type Middleware,
  map,
  memoryStore,
  type ToolCall,
  type ToolFlow,
  tool,
} from '../index.ts'

// Spans of runs that were interrupted, and of those that continued.

const { telemetry, spans: ended, watch, reset } = observed()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const input = z.object({})
const book = tool({
  name: 'book',
  description: 'b',
  input,
  execute: (_, { answers }) => {
    if (answers.length === 0) throw interrupt()
    return 'ok'
  },
})
const look = tool({ name: 'look', description: 'l', input, effect: 'read', execute: () => 'seen' })

function agentOf(responses: readonly ScriptedResponse[], middleware: readonly Middleware[] = []) {
  return createAgent({
    model: scriptedModel(responses),
    name: 'travel',
    tools: [book, look],
    middleware,
    telemetry,
  })
}

async function spansOf(run: ReturnType<ReturnType<typeof agentOf>['stream']>) {
  reset()
  const reading = collect(run)
  await vi.runAllTimersAsync()
  const { result, error } = await reading
  if (!result) throw error
  watch.assertEndedOnce()
  return { spans: ended(), result }
}

const outcomes = (spans: readonly ReadableSpan[]) =>
  spans
    .filter(({ attributes }) => 'meanwhile.outcome' in attributes)
    .map(({ name, attributes, status }) => `${name} ${String(attributes['meanwhile.outcome'])} ${status.code}`)
    .toSorted()

/** The answer of a wrap instead of a tool. */
async function* answering({ id, name }: ToolCall): ToolFlow {
  return { role: 'tool', callId: id, name, content: [] }
}

const answersTo = ({ interrupts = [] }: AgentResult) => Object.fromEntries(interrupts.map(({ id }) => [id, 'yes']))

function checkpointOf({ checkpoint }: AgentResult) {
  if (!checkpoint) throw new Error('no checkpoint')
  return checkpoint
}

test('an interrupted run and its call end UNSET, as interrupted; the resumed run’s span links to it (L12, A25)', async () => {
  const agent = agentOf([respond(call('book'), call('look')), respond(say('Done'))])
  const first = await spansOf(agent.stream('Go'))
  expect(outcomes(first.spans)).toEqual([
    'chat scripted-1 completed 0',
    'execute_tool book interrupted 0',
    'execute_tool look committed 0',
    'invoke_agent travel interrupted 0',
  ])
  const second = await spansOf(agent.resume(checkpointOf(first.result), answersTo(first.result)))
  // Results from the checkpoint have no span.
  expect(outcomes(second.spans)).toEqual([
    'chat scripted-1 completed 0',
    'execute_tool book committed 0',
    'invoke_agent travel completed 0',
  ])
  const [before, after] = [first, second].map(({ spans }) => spans.find(({ name }) => name === 'invoke_agent travel'))
  expect(after?.links.map(({ context }) => context)).toEqual([
    expect.objectContaining({ spanId: before?.spanContext().spanId, traceId: before?.spanContext().traceId }),
  ])
  expect([before, after].map((span) => span?.attributes['meanwhile.run.resumed'])).toEqual([false, true])
  const made = second.spans.find(({ name }) => name === 'execute_tool book')
  expect(made?.attributes).toMatchObject({ 'meanwhile.attempt': 2, 'gen_ai.tool.call.id': 'call_1_1' })
  expect(made?.parentSpanContext?.spanId).toBe(after?.spanContext().spanId)
})

test('whatever asks, its span ends UNSET, and each span ends once (L12)', async () => {
  const asks = (run: { readonly answers: readonly unknown[] }) => {
    if (run.answers.length === 0) throw interrupt()
  }
  const asking: Middleware = {
    name: 'asking',
    beforeAgent: (_, run) => asks(run),
    beforeModel: (_, run) => asks(run),
    afterModel: (_, run) => asks(run),
    beforeFinalAnswer: (_, run) => asks(run),
    async *wrapAgent(setup, next, run) {
      asks(run)
      return yield* next(setup)
    },
    async *wrapModel(request, next, run) {
      asks(run)
      return yield* next(request)
    },
    async *wrapToolCall(one, next, run) {
      asks(run)
      return yield* next(one)
    },
  }
  const agent = agentOf([respond(call('look')), respond(say('Done'))], [asking])
  let { spans, result } = await spansOf(agent.stream('Go'))
  const seen: string[] = []
  for (let n = 0; n < 20 && result.status === 'interrupted'; n++) {
    seen.push(...outcomes(spans).filter((line) => line.startsWith('invoke_agent')))
    for (const { status } of spans) expect(status.code).toBe(0)
    ;({ spans, result } = await spansOf(agent.resume(checkpointOf(result), answersTo(result))))
  }
  expect(result.text).toBe('Done')
  expect(new Set(seen)).toEqual(new Set(['invoke_agent travel interrupted 0']))
})

test('the span of an early call that a stopped run keeps ends with the run, at the time when the call was done (O8, O9)', async () => {
  const cached: Middleware = {
    name: 'cached',
    wrapToolCall: (one, next) => (one.id === 'kept' ? answering(one) : next(one)),
  }
  const asking: Middleware = {
    name: 'asking',
    afterModel: (_, run) => {
      if (run.step === 1 && run.answers.length === 0) throw interrupt()
    },
  }
  const responses = [respond(call('look'), call('look', {}, { id: 'kept' }), wait(100), say('.')), respond(say('Done'))]
  const agent = agentOf(responses, [asking, cached, early])
  const first = await spansOf(agent.stream('Go'))
  const lasted = (spans: readonly ReadableSpan[]) => spans.map((span) => `${span.name} ${durationOf(span)}`).toSorted()
  expect(outcomes(first.spans)).toEqual([
    'chat scripted-1 completed 0',
    'execute_tool look interrupted 0',
    'invoke_agent travel interrupted 0',
    'middleware cached wrapToolCall interrupted 0',
  ])
  expect(lasted(first.spans)).toEqual([
    'chat scripted-1 0.1',
    'execute_tool look 0',
    'invoke_agent travel 0.1',
    'middleware asking afterModel 0',
    'middleware cached wrapToolCall 0',
    'middleware cached wrapToolCall 0',
    'middleware early wrapModel 0.1',
  ])
  const second = await spansOf(agent.resume(checkpointOf(first.result), answersTo(first.result)))
  expect(lasted(second.spans)).toEqual([
    'chat scripted-1 0',
    'invoke_agent travel 0',
    'middleware asking afterModel 0',
    'middleware asking afterModel 0',
    'middleware early wrapModel 0',
  ])
})

test('calls of a resumed run are children of the innermost wrapAgent, as usual (H28)', async () => {
  const round: Middleware = { name: 'round', wrapAgent: (setup, next) => map(next(setup), (event) => event) }
  const agent = agentOf([respond(call('book')), respond(say('Done'))], [round])
  const first = await spansOf(agent.stream('Go'))
  const { spans } = await spansOf(agent.resume(checkpointOf(first.result), answersTo(first.result)))
  const wrap = spans.find(({ name }) => name === 'middleware round wrapAgent')
  const made = spans.find(({ name }) => name === 'execute_tool book')
  expect(made?.parentSpanContext?.spanId).toBe(wrap?.spanContext().spanId)
})

test('the span of a resumed run counts the results from the checkpoint, and the calls that may have happened (L20, L21)', async () => {
  const model = scriptedModel([respond(call('look'), call('pay')), respond(say('Done')), respond(say('Done'))])
  const store = memoryStore()
  let killed: Checkpoint | undefined
  const pay = tool({
    name: 'pay',
    description: 'p',
    input,
    execute: async () => {
      killed = structuredClone((await store.load(run.id)) as Checkpoint)
      return 'paid'
    },
  })
  const options = { model, tools: [look, pay], toolConcurrency: 1, telemetry }
  const run = createAgent({ ...options, checkpoints: store }).stream('Go')
  await spansOf(run)
  // As if the process had ended while `pay` was running.
  if (!killed) throw new Error('nothing was saved')
  const { spans } = await spansOf(createAgent(options).resume(killed))
  expect(spans.map(({ name }) => name)).toEqual(['chat scripted-1', 'invoke_agent'])
  expect(spans.at(-1)?.attributes).toMatchObject({
    'meanwhile.run.resumed': true,
    'meanwhile.tool_calls.early': 0,
    'meanwhile.tool_calls.reused': 1,
    'meanwhile.tool_calls.unknown': 1,
  })
})
