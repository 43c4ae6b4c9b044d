/** Approval with eager tools, and in the trace. */

import { call, collect, cut, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, type Tool, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { spanOutline } from '@meanwhile/harness/otlp'
import { type Approval, type ApproveOptions, approve, retryModel } from '@meanwhile/middleware'
import { propertyRuns } from '@meanwhile/tests/size'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const exporter = new InMemorySpanExporter()
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
const done = respond(say('Done.'))

const ATTRIBUTES = [
  'meanwhile.middleware.next_calls',
  'meanwhile.dispatch.mode',
  'meanwhile.dispatch.evidence',
  'meanwhile.dispatch.deferral_reason',
  'meanwhile.outcome',
]

const input = z.object({ n: z.number() })

/** A run in which `send` requires approval. Like `look` it is a read. Everything is logged with its time. */
async function ran(
  responses: readonly ScriptResponse[],
  list: List,
  options: Partial<ApproveOptions> = {},
  asks = true,
) {
  const begin = performance.now()
  const log: string[] = []
  const note = (what: string) => log.push(`${Math.round(performance.now() - begin)} ${what}`)
  const make = (name: string) =>
    tool({
      name,
      description: name,
      input,
      effect: 'read',
      execute({ n }) {
        note(`${name} ${n}`)
        return `${name} ${n}`
      },
    }) as Tool
  const asked: ApproveOptions['ask'] = ({ callId }) => {
    note(`asked about ${callId}`)
    return { decision: 'allow' }
  }
  const approval = approve({
    tools: ['send'],
    ...(asks && { ask: asked }),
    ...options,
  })
  exporter.reset()
  const agent = createAgent({
    model: scriptedModel(responses),
    tools: [make('send'), make('look')],
    middleware: list(approval),
    telemetry: { tracerProvider },
  })
  const collected = collect(agent.stream('Go'))
  await vi.runAllTimersAsync()
  const outline = spanOutline(exporter.getFinishedSpans(), { attributes: ATTRIBUTES })
  return { ...(await collected), log, outline }
}

type List = (approval: Middleware) => readonly Middleware[]
const outside: List = (approval) => [approval, eagerTools()]
const inside: List = (approval) => [eagerTools(), approval]
const lists = [outside, inside]

test('eager: a call that requires approval waits until its response is accepted, is asked for once, and then runs (O10)', async () => {
  const responses = [respond(call('send', { n: 1 }, { id: 'a' }), call('look', { n: 2 }), wait(500), say('.')), done]
  for (const list of lists) {
    const { log } = await ran(responses, list, { tools: async ({ name }) => name === 'send' })
    expect(log).toEqual(['0 look 2', '500 asked about a', '500 send 1'])
  }
})

test('eager: a slow predicate delays only its own call (O10)', async () => {
  const slow: ApproveOptions['tools'] = async ({ name }) => {
    await new Promise((resolve) => setTimeout(resolve, name === 'send' ? 200 : 0))
    return false
  }
  const responses = [respond(call('send', { n: 1 }), call('look', { n: 2 }), wait(500), say('.')), done]
  expect((await ran(responses, outside, { tools: slow })).log).toEqual(['0 look 2', '200 send 1'])
})

test('eager: nobody is asked to approve a call whose response is not accepted (O10)', async () => {
  for (const list of lists) {
    const { log, error } = await ran([respond(call('send', { n: 1 }), wait(500), cut())], list)
    expect(error).toMatchObject({ name: 'ModelError' })
    expect(log).toEqual([])
  }
})

test('eager, and a model call that is repeated: one question, with the id in the history (O10, O4, N22)', async () => {
  const responses = [
    respond(call('send', { n: 1 }, { id: 'a' }), wait(50), cut()),
    respond(call('send', { n: 1 }, { id: 'b' }), wait(50), say('.')),
    done,
  ]
  for (const list of lists) {
    const { log } = await ran(responses, (approval) => [retryModel({ random: () => 0 }), ...list(approval)])
    expect(log).toEqual(['200 asked about b', '200 send 1'])
  }
})

test('eager: without ask the run is interrupted once, after the response is accepted, and nothing has run (O10, N22)', async () => {
  const responses = [respond(call('send', { n: 1 }, { id: 'a' }), wait(500), say('.')), done]
  const { result, log } = await ran(responses, outside, {}, false)
  expect(result).toMatchObject({
    status: 'interrupted',
    interrupts: [{ payload: { tool: 'send', input: { n: 1 }, callId: 'a' } }],
  })
  expect(log).toEqual([])
})

test('a denied call has a span for its wrap and none for an execution (N23)', async () => {
  const responses = [respond(call('send', { n: 1 }), call('look', { n: 2 })), done]
  const { outline } = await ran(responses, outside, { ask: () => ({ decision: 'deny' }) })
  expect(outline.match(/middleware approve wrapToolCall .*next_calls":0/g)).toHaveLength(1)
  expect(outline.match(/execute_tool \w+/g)).toEqual(['execute_tool look'])
})

test('the span of a call that waited for approval shows this: eager, not eager and resumed (H28, O10)', async () => {
  const responses = [respond(call('send', { n: 1 }), call('look', { n: 2 }), wait(500), say('.')), done]
  const late = {
    'meanwhile.dispatch.mode': 'after_model',
    'meanwhile.dispatch.evidence': 'model_stood',
    'meanwhile.dispatch.deferral_reason': 'approval',
    'meanwhile.outcome': 'committed',
  }
  for (const list of [...lists, (approval: Middleware) => [approval]]) {
    const { outline } = await ran(responses, list)
    expect(outline).toContain(`execute_tool send ${JSON.stringify(late)}`)
  }
  const { outline } = await ran(responses, outside)
  expect(outline).toContain(
    'execute_tool look {"meanwhile.dispatch.mode":"early","meanwhile.dispatch.evidence":"closed",',
  )
})

test('questions, allowed calls and results are the same with eager tools and without, however calls fail and are edited (O10, O19, N23)', async () => {
  const anyCall = fc.record({ name: fc.constantFrom('send', 'look'), n: fc.nat({ max: 5 }) })
  const anyStep = fc.record({
    calls: fc.array(anyCall, { maxLength: 4 }),
    ending: fc.constantFrom(say('.'), say('.'), cut()),
  })
  const approvals: readonly Approval[] = [
    { decision: 'allow' },
    { decision: 'deny', reason: 'no' },
    { decision: 'edit', input: { n: 9 } },
    { decision: 'edit', input: {} },
  ]
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 4 }), fc.boolean(), async (steps, remembers) => {
      const responses = steps.map(({ calls, ending }) =>
        respond(...calls.map(({ name, n }) => call(name, { n })), wait(30), ending),
      )
      const all = [...responses, ...Array.from({ length: 4 }, () => done)]
      const outcome = async (list: List) => {
        const asked: unknown[] = []
        const ask: ApproveOptions['ask'] = (question) => {
          asked.push(question)
          return approvals[(question.input as { n: number }).n] ?? { decision: 'allow' }
        }
        const { result, error, log } = await ran(all, list, { ask, remember: remembers ? 'run' : 'never' })
        // A read that was allowed before may start early for nothing; no other call does.
        const sent = (remembers ? [] : log).flatMap((line) =>
          line.includes('send') ? [line.replace(/^\d+ /, '')] : [],
        )
        return { messages: result?.messages, error: String(error), asked, sent }
      }
      const retried =
        (list: List): List =>
        (approval) => [retryModel({ random: () => 0 }), ...list(approval)]
      const late = await outcome(retried((approval) => [approval]))
      expect(await outcome(retried(outside))).toEqual(late)
      expect(await outcome(retried(inside))).toEqual(late)
    }),
    propertyRuns({ small: 5, middle: 7, whole: 3_000 }),
  )
})
