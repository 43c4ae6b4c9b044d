import { call, fail, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { askAgain, callAgain } from '../../test/again.ts'
import { sleep } from '../../test/clock.ts'
import { startingEarly } from '../../test/early-calls.ts'
import { observed } from '../../test/observed.ts'
import { pause } from '../../test/tools.ts'
import { type AgentOptions, createAgent, type Middleware, type Tool, type ToolCall, tool } from '../index.ts'

// When spans begin and end, compared with the script's clock.

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

/** Starts the reads of a response as soon as they are sealed. */
const early = startingEarly({ only: ({ name }) => name !== 'send' })

/** From 100 ms on: look at 100, wait and send at 200; the stream ends at 400. */
const responses: readonly ScriptResponse[] = [
  respond(wait(100), call('look', {}), wait(100), call('stay'), call('send'), wait(200), say('.')),
  respond(wait(100), say('Done.')),
]
const tools = [pause('look', 150), pause('stay', 500), pause('send', 50, 'external')]

/** Milliseconds since the run began, and the times on its span, in seconds. */
interface Timed {
  readonly name: string
  readonly from: number
  readonly to: number
  readonly head?: unknown
  readonly overlap?: unknown
  readonly lag?: unknown
  readonly queued?: unknown
}

async function timed(options: Partial<AgentOptions>): Promise<readonly Timed[]> {
  const { telemetry, spans } = observed()
  const run = createAgent({ model: scriptedModel(responses), tools, ...options, telemetry }).run('Go')
  await vi.runAllTimersAsync()
  await run
  const all = spans().filter(({ name }) => !name.startsWith('middleware'))
  const begin = Math.min(...all.map(({ startTime }) => ms(startTime)))
  return all
    .map((span) => ({ name: span.name, from: ms(span.startTime) - begin, to: ms(span.endTime) - begin, ...told(span) }))
    .toSorted((a, b) => a.from - b.from || a.name.localeCompare(b.name))
}

function ms([seconds, nanoseconds]: readonly [number, number]): number {
  return Math.round(seconds * 1e3 + nanoseconds / 1e6)
}

function told({ attributes }: ReadableSpan): Omit<Timed, 'name' | 'from' | 'to'> {
  const names = {
    head: 'meanwhile.head_start',
    overlap: 'meanwhile.overlap',
    lag: 'meanwhile.dispatch.lag',
    queued: 'meanwhile.dispatch.queued',
  }
  return Object.fromEntries(
    Object.entries(names).flatMap(([short, name]) =>
      attributes[name] === undefined ? [] : [[short, attributes[name]]],
    ),
  )
}

const atOnce = { lag: 0, queued: 0 }

test('waiting: no tool starts before its model call has ended, and no span has a head start', async () => {
  expect(await timed({})).toEqual([
    { name: 'chat scripted-1', from: 0, to: 400 },
    { name: 'invoke_agent', from: 0, to: 1_000 },
    { name: 'execute_tool look', from: 400, to: 550, ...atOnce },
    { name: 'execute_tool send', from: 400, to: 450, ...atOnce },
    { name: 'execute_tool stay', from: 400, to: 900, ...atOnce },
    { name: 'chat scripted-1', from: 900, to: 1_000 },
  ])
})

test('early and late calls in one response: head start and overlap are those of the script’s clock', async () => {
  expect(await timed({ middleware: [early] })).toEqual([
    { name: 'chat scripted-1', from: 0, to: 400 },
    { name: 'invoke_agent', from: 0, to: 800 },
    { name: 'execute_tool look', from: 100, to: 250, head: 0.3, overlap: 0.15, ...atOnce },
    { name: 'execute_tool stay', from: 200, to: 700, head: 0.2, overlap: 0.2, ...atOnce },
    { name: 'execute_tool send', from: 400, to: 450, ...atOnce },
    { name: 'chat scripted-1', from: 700, to: 800 },
  ])
})

test('one slot: waiting for it is part of the lag, and a call that gets it late has no head start', async () => {
  expect(
    await timed({ middleware: [early], toolConcurrency: 1, tools: [...tools.slice(1), pause('look', 350)] }),
  ).toEqual([
    { name: 'chat scripted-1', from: 0, to: 400 },
    { name: 'invoke_agent', from: 0, to: 1_100 },
    { name: 'execute_tool look', from: 100, to: 450, head: 0.3, overlap: 0.3, ...atOnce },
    { name: 'execute_tool stay', from: 450, to: 950, head: 0, overlap: 0, lag: 0.25, queued: 0.25 },
    { name: 'execute_tool send', from: 950, to: 1_000, lag: 0.55, queued: 0.55 },
    { name: 'chat scripted-1', from: 1_000, to: 1_100 },
  ])
})

test('a call whose wrap waits until its model call has succeeded has not started early: its lag counts from there', async () => {
  const asking: Middleware = {
    name: 'asking',
    async *wrapToolCall(call, next, run) {
      if (call.name === 'look') {
        await run.stood(call.id)
        await sleep(30)
      }
      return yield* next(call)
    },
  }
  const { telemetry, span } = observed()
  const model = scriptedModel(responses)
  const run = createAgent({ model, tools, middleware: [asking, early], telemetry }).run('Go')
  await vi.runAllTimersAsync()
  await run
  const { attributes } = span('execute_tool look')
  expect(attributes).toMatchObject({
    'meanwhile.dispatch.mode': 'after_model',
    'meanwhile.dispatch.evidence': 'model_stood',
    'meanwhile.dispatch.lag': 0.03,
    'meanwhile.outcome': 'committed',
  })
  expect(attributes).not.toHaveProperty('meanwhile.head_start')
  expect(span('execute_tool stay').attributes).toMatchObject({ 'meanwhile.dispatch.mode': 'early' })
})

test('a call that another attempt joins has its head start before the end of that attempt (O4)', async () => {
  const model = scriptedModel([
    respond(wait(100), call('look'), wait(100), fail()),
    respond(wait(100), call('look'), wait(50), say('.')),
    respond(say('Done.')),
  ])
  const { telemetry, spans, span } = observed()
  const run = createAgent({ model, tools: [pause('look', 300)], middleware: [askAgain, early], telemetry }).run('Go')
  await vi.runAllTimersAsync()
  await run
  const look = span('execute_tool look')
  expect(told(look)).toEqual({ head: 0.25, overlap: 0.25, ...atOnce })
  const [first, second] = spans().filter(({ name }) => name.startsWith('chat'))
  const ids = [first, second].map((chat) => chat?.spanContext().spanId)
  expect(look.links.map(({ context }) => context.spanId)).toEqual(ids)
  expect([first, second].map((chat) => chat?.attributes['meanwhile.tool_calls.early'])).toEqual([1, 0])
})

test('each execution of a repeated call has its own times; lag is that of the first', async () => {
  const flaky = tool({
    name: 'look',
    description: 'l',
    input: z.object({}),
    effect: 'read',
    execute: async (_, { attempt }) => {
      await sleep(100)
      if (attempt === 1) throw new Error('not yet')
    },
  }) as Tool
  const spans = await timed({ middleware: [callAgain, early], tools: [flaky, ...tools.slice(1)] })
  expect(spans.filter(({ name }) => name === 'execute_tool look')).toEqual([
    { name: 'execute_tool look', from: 100, to: 200, head: 0.3, overlap: 0.1, ...atOnce },
    { name: 'execute_tool look', from: 200, to: 300, head: 0.2, overlap: 0.1, queued: 0 },
  ])
})

test('an inner call of an early tool has the evidence of its maker, and later that the model call succeeded', async () => {
  const calling = tool({
    name: 'calling',
    description: 'c',
    input: z.object({}),
    effect: 'read',
    async execute(_, { callId, run }) {
      await run?.callTool({ type: 'tool-call', id: `${callId}-1`, name: 'look', input: {} })
      await sleep(200)
      await run?.callTool({ type: 'tool-call', id: `${callId}-2`, name: 'look', input: {} })
    },
  }) as Tool
  const { telemetry, spans } = observed()
  const attributes = { 'meanwhile.dispatch.evidence': 'sealed' }
  const run = createAgent({
    model: scriptedModel([respond(call('calling'), wait(100), say('.')), respond(say('Done.'))]),
    tools: [calling, pause('look', 10)],
    middleware: [startingEarly({ attributes })],
    telemetry,
  }).run('Go')
  await vi.runAllTimersAsync()
  await run
  const evidence = spans().filter(({ name }) => name.startsWith('execute_tool'))
  expect(evidence.map(({ name, attributes }) => [name, attributes['meanwhile.dispatch.evidence']])).toEqual([
    ['execute_tool look', 'sealed'],
    ['execute_tool look', 'model_stood'],
    ['execute_tool calling', 'sealed'],
  ])
})

/** Starts each call when it is ready, and passes it the rest when that has closed. */
const onNeeds: Middleware = {
  name: 'on-needs',
  async *wrapModel(request, next, run) {
    const flow = next(request)
    let whole: (call: ToolCall) => void = () => undefined
    for (;;) {
      const step = await flow.next()
      if (step.done) return step.value
      const event = step.value
      if (event.type === 'tool-input-ready') {
        const { id, name, input } = event
        const rest = new Promise<ToolCall>((resolve) => {
          whole = resolve
        })
        run.callTool({ type: 'tool-call', id, name, input }, { rest }).catch(() => undefined)
      } else if (event.type === 'tool-input-closed') whole(event.call)
      yield event
    }
  },
}

test('waiting for the rest of its input is not overlap, and work before that is (Q7)', async () => {
  const worked = async (before: number, awaits: boolean, after: number) => {
    const search = tool({
      name: 'search',
      description: 's',
      input: z.object({ q: z.string(), r: z.string() }),
      effect: 'read',
      needs: [],
      async execute(_, { rest }) {
        await sleep(before)
        if (awaits) await rest
        await sleep(after)
      },
    }) as Tool
    // The name at 20 ms, the input from 40 to 160, the end at 220.
    const response = respond(call('search', { q: 'owls', r: 'bats' }, { deltas: 7 }), say('a b c'))
    const model = scriptedModel([response, respond(say('Done.'))], { pace: { firstToken: 20, betweenTokens: 20 } })
    const { telemetry, span } = observed()
    const run = createAgent({ model, tools: [search], middleware: [onNeeds], telemetry }).run('Go')
    await vi.runAllTimersAsync()
    await run
    const { head, overlap } = told(span('execute_tool search'))
    return [head, overlap]
  }
  expect(await worked(0, true, 0)).toEqual([0.2, 0])
  expect(await worked(50, true, 0)).toEqual([0.2, 0.05])
  expect(await worked(50, true, 30)).toEqual([0.2, 0.08])
  expect(await worked(50, true, 500)).toEqual([0.2, 0.11])
  expect(await worked(180, true, 0)).toEqual([0.2, 0.18])
  expect(await worked(180, false, 500)).toEqual([0.2, 0.2])
})
