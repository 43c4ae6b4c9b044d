import { readFileSync } from 'node:fs'
import { call, end, fail, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { SamplingDecision } from '@opentelemetry/sdk-trace'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { askAgain } from '../../test/again.ts'
import { early } from '../../test/early-calls.ts'
import { observed } from '../../test/observed.ts'
import { createAgent, type Middleware, type Tool, tool } from '../index.ts'

// docs/telemetry.md, generated from semconv.ts, is correct: what is on which span, when, and on which metric.

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

/** The rows of its tables whose first cell is a name. */
const rows = readFileSync(new URL('../../../../docs/telemetry.md', import.meta.url), 'utf8')
  .split('\n')
  .flatMap((line) => (line.startsWith('| `') ? [line.slice(2, -2).split(' | ')] : []))
const unquoted = (cell = '') => cell.replaceAll('`', '')

/** `span attribute`, and whether it is present at the start. */
const attributes = new Map(
  rows
    .filter((row) => row.length === 5 && /^(string|int|double|boolean)/.test(row[2] ?? ''))
    .flatMap(([name, on = '', , start]) =>
      on.split(', ').map((span) => [`${span} ${unquoted(name)}`, start === 'yes']),
    ),
)
const metrics = new Map(
  rows
    .filter(([, kind]) => kind === 'histogram' || kind === 'counter')
    .map(([name, , unit, given]) => [unquoted(name), { unit, attributes: unquoted(given).split(', ') }]),
)

const SPANS: Readonly<Record<string, string>> = {
  invoke_agent: 'run',
  chat: 'chat',
  execute_tool: 'tool',
  middleware: 'middleware',
}

function kindOf(span: string): string {
  return SPANS[span.split(' ')[0] ?? ''] ?? 'unknown'
}

/** Answers itself, withdraws calls, and checks the answer. */
const cache: Middleware = {
  name: 'cache',
  async *wrapToolCall(call, next) {
    if (!['kept', 'taken'].includes(call.name)) return yield* next(call)
    return { role: 'tool', callId: call.id, name: call.name, content: [] }
  },
  afterModel: ({ messages }) => {
    const last = messages.at(-1)
    if (last?.role !== 'assistant') return
    const content = last.content.filter((part) => part.type !== 'tool-call' || !['move', 'taken'].includes(part.name))
    return { messages: [...messages.slice(0, -1), { ...last, content }] }
  },
  beforeFinalAnswer: () => undefined,
}

const input = z.object({})
const toolOf = (name: string, execute: () => unknown, more: Omit<Partial<Tool>, 'needs'> = {}) =>
  tool({ name, description: name, input, effect: 'read', execute, ...more }) as Tool

test('every attribute and metric of a run that has them all is documented where it is found', async () => {
  const atStart = new Set<string>()
  const { telemetry, spans, points, instruments } = observed({
    shouldSample(_context, _traceId, span, _kind, attributes) {
      for (const name of Object.keys(attributes)) atStart.add(`${kindOf(span)} ${name}`)
      return { decision: SamplingDecision.RECORD_AND_SAMPLED }
    },
    toString: () => 'looking',
  })
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 1, cacheWriteTokens: 1, reasoningTokens: 1 }
  const model = scriptedModel([
    respond(wait(10), say('So'), fail()),
    respond(
      wait(10),
      call('look'),
      call('kept'),
      call('taken'),
      call('move'),
      call('broken'),
      call('nobody'),
      wait(50),
      say('.'),
      end({ usage }),
    ),
    respond(wait(10), say('Done.')),
  ])
  const agent = createAgent({
    name: 'planner',
    model: {
      ...model,
      server: { address: 'models.test', port: 8443 },
      async *stream(request) {
        const message = yield* model.stream(request)
        return { ...message, response: { id: 'r', model: 'm' } }
      },
    },
    instructions: 'Be brief.',
    tools: [
      toolOf('look', () => 'seen'),
      toolOf('kept', () => 'kept'),
      toolOf('taken', () => 'taken'),
      toolOf('move', () => 'moved', { effect: 'reversible', compensate: () => undefined }),
      toolOf('broken', () => {
        throw new RangeError('no')
      }),
    ],
    settings: {
      maxTokens: 16,
      temperature: 1,
      topP: 1,
      topK: 1,
      frequencyPenalty: 1,
      presencePenalty: 1,
      stopSequences: ['x'],
      seed: 1,
    },
    middleware: [askAgain, cache, early],
    telemetry: { ...telemetry, captureContent: true, usageOnRun: true },
  })
  const run = agent.run('Go', { conversationId: 'talk' })
  await vi.runAllTimersAsync()
  await run

  const found = new Set<string>()
  for (const span of spans()) {
    for (const name of Object.keys(span.attributes)) found.add(`${kindOf(span.name)} ${name}`)
  }
  expect([...found].filter((one) => !attributes.has(one))).toEqual([])
  expect([...found].filter((one) => attributes.get(one) !== atStart.has(one))).toEqual([])
  // Almost all attributes: the others belong to runs that stop, are resumed, ask for approval, or have eager tools or a guard.
  const missing = [...attributes.keys()].filter((one) => !found.has(one) && !/^(event|metrics|guard)/.test(one))
  expect(missing.toSorted()).toEqual([
    'run error.type',
    'run meanwhile.time_saved',
    'run meanwhile.time_saved.steps',
    'run meanwhile.time_wasted',
    'run meanwhile.tool_concurrency',
    'tool meanwhile.approval.by',
    'tool meanwhile.approval.decision',
    'tool meanwhile.arguments.closed',
    'tool meanwhile.dispatch.deferral_reason',
    'tool meanwhile.dispatch.evidence',
    'tool meanwhile.dispatch.waited_for',
    'tool meanwhile.rest.waited',
    'tool meanwhile.settled',
  ])

  const made = await instruments()
  expect(Object.fromEntries(Object.entries(made).map(([name, { unit }]) => [name, unit]))).toEqual(
    Object.fromEntries([...metrics].map(([name, { unit }]) => [name, unit])),
  )
  for (const { name, attributes } of await points()) {
    expect(metrics.get(name)?.attributes).toEqual(expect.arrayContaining(Object.keys(attributes)))
  }
})
