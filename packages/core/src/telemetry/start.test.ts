import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { type Attributes, SpanKind } from '@opentelemetry/api'
import { type Sampler, SamplingDecision } from '@opentelemetry/sdk-trace'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { observed } from '../../test/observed.ts'
import { createAgent, type Middleware, map, type Tool, tool } from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

interface Seen {
  readonly name: string
  readonly kind: string | undefined
  readonly attributes: Attributes
  readonly links: number
}

/** Decides on the initial attributes of a span, as samplers do. */
function looking() {
  const seen: Seen[] = []
  const sampler: Sampler = {
    shouldSample(_context, _traceId, name, kind, attributes, links) {
      seen.push({ name, kind: SpanKind[kind], attributes: { ...attributes }, links: links.length })
      return { decision: SamplingDecision.RECORD_AND_SAMPLED }
    },
    toString: () => 'looking',
  }
  return { seen, sampler }
}

const pass: Middleware = {
  name: 'pass',
  beforeAgent: () => undefined,
  wrapToolCall: (call, next) => next(call),
}

/** Starts the calls of `look` as soon as they are sealed, and records why others wait. */
const early: Middleware = {
  name: 'early',
  wrapModel: (request, next, run) =>
    map(next(request), (event) => {
      if (event.type !== 'tool-call') return event
      const { call } = event
      if (call.name === 'send') run.annotate({ 'meanwhile.dispatch.deferral_reason': 'effect' }, call.id)
      else run.callTool(call, { attributes: { 'meanwhile.dispatch.evidence': 'sealed' } }).catch(() => undefined)
      return event
    }),
}

const input = z.object({})
const look = tool({ name: 'look', description: 'l', input, effect: 'read', execute: () => 'seen' }) as Tool
const send = tool({ name: 'send', description: 's', input, execute: () => 'sent' }) as Tool

test('a span starts with what samplers decide on, and gets the rest afterwards', async () => {
  const { seen, sampler } = looking()
  const { telemetry, spans } = observed(sampler)
  const model = scriptedModel([
    respond(
      call('look', {}, { id: 'c1' }),
      call('send', {}, { id: 'c2' }),
      call('canary', {}, { id: 'c3' }),
      wait(50),
      say('.'),
    ),
    respond(say('Done.')),
  ])
  const agent = createAgent({
    name: 'planner',
    model: { ...model, inProcess: false, server: { address: 'models.test', port: 8443 } },
    tools: [look, send],
    middleware: [pass, early],
    settings: {
      maxTokens: 100,
      temperature: 0.5,
      topP: 0.9,
      topK: 40,
      frequencyPenalty: 0.1,
      presencePenalty: 0.2,
      stopSequences: ['END'],
      seed: 7,
    },
    telemetry: { ...telemetry, attributes: { tenant: 'acme', 'gen_ai.operation.name': 'mine' } },
  })
  const run = agent.stream('Go', { conversationId: 'talk-1' })
  await vi.runAllTimersAsync()
  await run.result

  const asked = {
    'gen_ai.provider.name': 'scripted',
    'gen_ai.request.model': 'scripted-1',
    'gen_ai.conversation.id': 'talk-1',
  }
  const chat: Seen = {
    name: 'chat scripted-1',
    kind: 'CLIENT',
    attributes: {
      ...asked,
      'gen_ai.operation.name': 'chat',
      'server.address': 'models.test',
      'server.port': 8443,
      'gen_ai.request.stream': true,
    },
    links: 0,
  }
  const middleware = (name: string, hook: string): Seen => ({
    name: `middleware ${name} ${hook}`,
    kind: 'INTERNAL',
    attributes: {},
    links: 0,
  })
  const execution = (name: string): Seen => ({
    name: name === '_OTHER' ? 'execute_tool' : `execute_tool ${name}`,
    kind: 'INTERNAL',
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.agent.name': 'planner',
      'gen_ai.conversation.id': 'talk-1',
    },
    links: 1,
  })
  expect(seen).toEqual([
    {
      name: 'invoke_agent planner',
      kind: 'INTERNAL',
      attributes: {
        ...asked,
        tenant: 'acme',
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'planner',
        'meanwhile.run.id': run.id,
        'meanwhile.run.resumed': false,
        'meanwhile.middleware.order': ['pass', 'early'],
      },
      links: 0,
    },
    middleware('pass', 'beforeAgent'),
    middleware('early', 'wrapModel'),
    chat,
    middleware('pass', 'wrapToolCall'),
    execution('look'),
    middleware('pass', 'wrapToolCall'),
    execution('_OTHER'),
    middleware('pass', 'wrapToolCall'),
    execution('send'),
    middleware('early', 'wrapModel'),
    chat,
  ])

  const has = (name: string, more: Attributes) =>
    expect.objectContaining({ name, attributes: expect.objectContaining(more) })
  const called = (id: string, more: Attributes): Attributes => ({
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': id,
    'meanwhile.step.index': 1,
    'meanwhile.attempt': 1,
    'meanwhile.dispatch.queued': 0,
    ...more,
  })
  const sealed = { 'meanwhile.dispatch.mode': 'early', 'meanwhile.dispatch.evidence': 'sealed' }
  expect(spans()).toEqual(
    expect.arrayContaining([
      has('chat scripted-1', {
        'gen_ai.request.max_tokens': 100,
        'gen_ai.request.temperature': 0.5,
        'gen_ai.request.top_p': 0.9,
        'gen_ai.request.top_k': 40,
        'gen_ai.request.frequency_penalty': 0.1,
        'gen_ai.request.presence_penalty': 0.2,
        'gen_ai.request.stop_sequences': ['END'],
        'gen_ai.request.seed': 7,
        'meanwhile.step.index': 2,
        'meanwhile.attempt': 1,
      }),
      has('middleware pass wrapToolCall', {
        'meanwhile.middleware.name': 'pass',
        'meanwhile.middleware.hook': 'wrapToolCall',
        'meanwhile.step.index': 1,
      }),
      has('execute_tool look', called('c1', sealed)),
      has('execute_tool', called('c3', sealed)),
      has(
        'execute_tool send',
        called('c2', {
          'meanwhile.dispatch.mode': 'after_model',
          'meanwhile.dispatch.evidence': 'model_stood',
          'meanwhile.dispatch.deferral_reason': 'effect',
        }),
      ),
    ]),
  )
})

test('a model in this process has spans without the kind CLIENT', async () => {
  const { seen, sampler } = looking()
  for (const inProcess of [true, false]) {
    const model = { ...scriptedModel([respond(say('Done.'))]), inProcess }
    const { telemetry } = observed(sampler)
    const run = createAgent({ model, telemetry }).run('Go')
    await vi.runAllTimersAsync()
    await run
  }
  expect(seen.map(({ kind }) => kind)).toEqual(['INTERNAL', 'INTERNAL', 'INTERNAL', 'CLIENT'])
})

test('what a sampler drops is not exported; the run is not affected, and is measured', async () => {
  const { telemetry, spans, points } = observed({
    shouldSample: () => ({ decision: SamplingDecision.NOT_RECORD }),
    toString: () => 'none',
  })
  const model = scriptedModel([respond(call('look')), respond(say('Done.'))])
  const run = createAgent({ model, tools: [look], middleware: [pass, early], telemetry }).run('Go')
  await vi.runAllTimersAsync()
  expect((await run).text).toBe('Done.')
  expect(spans()).toEqual([])
  const measured = (await points()).map(({ name }) => name)
  expect(measured).toEqual(expect.arrayContaining(['gen_ai.invoke_agent.duration', 'gen_ai.execute_tool.duration']))
})
