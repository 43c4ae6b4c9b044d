import { call, collect, respond, type ScriptStep, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { early, startingEarly, withdrawing } from '../../test/early-calls.ts'
import {
  type AgentEvent,
  agentTool,
  createAgent,
  interrupt,
  type Middleware,
  map,
  type Tool,
  type ToolCall,
  tool,
} from '../index.ts'

// Events of calls that the reader has not seen yet.

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const MOST = 1_024

/** Delays the model events for the outer wraps, after inner wraps have started calls. */
function holding(ms: number): Middleware {
  return {
    name: 'holding',
    async *wrapModel(request, next) {
      const held = []
      const flow = next(request)
      for (;;) {
        const step = await flow.next()
        if (step.done) {
          await sleep(ms)
          yield* held
          return step.value
        }
        held.push(step.value)
      }
    },
  }
}

/** Reports this many times at once, and once more after 100 ms. */
function telling(count: number): Tool {
  return tool({
    name: 'tell',
    description: 'Tells.',
    input: z.object({}),
    effect: 'read',
    async execute(_, { run }) {
      for (let n = 0; n < count; n++) run?.emit({ name: 'told', data: n })
      await sleep(100)
      run?.emit({ name: 'told', data: 'after that' })
    },
  }) as Tool
}

async function eventsOf(options: Parameters<typeof createAgent>[0]): Promise<readonly AgentEvent[]> {
  const reading = collect(createAgent(options).stream('Go', { eventBuffer: Number.POSITIVE_INFINITY }))
  await vi.runAllTimersAsync()
  return (await reading).events
}

const toldIn = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'custom' ? [event.data] : []))
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

const warningsIn = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'warning' ? [[event.code, event.message]] : []))

test.each([10, MOST, MOST + 1, 5_000])(
  'of %i custom events of a call that its reader has not seen yet the first 1,024 wait, and one warning counts the others (W43, MA16, B7)',
  async (count) => {
    const model = scriptedModel([respond(call('tell')), respond(say('Done'))])
    const events = await eventsOf({ model, tools: [telling(count)], middleware: [holding(50), early] })
    expect(toldIn(events)).toEqual([...numbers(Math.min(count, MOST)), 'after that'])
    const types = events.map(({ type }) => type)
    expect(types.indexOf('tool-start')).toBeGreaterThan(types.indexOf('tool-call'))
    const why = 'the call started early, and at most 1024 of them wait until the reader has seen it'
    const leftOut = [['events-left-out', `${count - MOST} custom events of tell were left out: ${why}`]]
    expect(warningsIn(events)).toEqual(count > MOST ? leftOut : [])
  },
)

test('the same holds for the custom events of an agent in the call, whose other events all wait (W43, MA16, M4)', async () => {
  const model = (step: ScriptStep) => scriptedModel([respond(step), respond(say('Done'))])
  const inner = createAgent({ name: 'inner', description: 'i', model: model(call('tell')), tools: [telling(5_000)] })
  const asRead: Tool = { ...agentTool(inner), effect: 'read' } as Tool
  const options = { model: model(call('inner', { request: 'Go' })), tools: [asRead], middleware: [holding(150), early] }
  const events = await eventsOf(options)
  const inside = events.filter(({ path }) => path)
  expect(toldIn(inside)).toEqual(numbers(MOST))
  expect(inside.flatMap(({ type }) => (type === 'custom' ? [] : [type]))).toEqual([
    'run-start',
    'step-start',
    'attempt-start',
    'tool-input-start',
    'tool-input-delta',
    'tool-call',
    'message',
    'tool-start',
    'tool-entered',
    'tool-end',
    'message',
    'step-end',
    'step-start',
    'attempt-start',
    'text-delta',
    'message',
    'step-end',
    'run-end',
  ])
})

test('a call that is discarded before its reader has seen it delivers no events, and neither do its inner calls (MA16, B8)', async () => {
  const silent: Middleware = {
    name: 'silent',
    async *wrapModel(request, next) {
      const flow = next(request)
      for (;;) {
        const step = await flow.next()
        if (step.done) return step.value
        if (step.value.type === 'text-delta') yield step.value
      }
    },
  }
  const calling: Tool = tool({
    name: 'calling',
    description: 'c',
    input: z.object({}),
    effect: 'read',
    async execute(_, { run }) {
      await run?.callTool({ type: 'tool-call', id: 'inner', name: 'tell', input: {} })
    },
  }) as Tool
  const model = scriptedModel([respond(call('calling'), wait(50), say('Well'))])
  const events = await eventsOf({
    model,
    tools: [calling, telling(3)],
    middleware: [silent, early, withdrawing('calling')],
  })
  expect(events.map(({ type }) => type)).toEqual([
    'run-start',
    'step-start',
    'attempt-start',
    'text-delta',
    'message',
    'history-replaced',
    'step-end',
    'run-end',
  ])
})

/** Outside of the wrap that starts calls: passes another input on to the reader and the loop. */
function rewriting(type: 'tool-input-closed' | 'tool-call', n: number): Middleware {
  const other = (one: ToolCall) => ({ ...one, input: { n } })
  return {
    name: 'rewriting',
    wrapModel: (request, next) =>
      map(next(request), (event) => (event.type === type ? { ...event, call: other(event.call) } : event)),
  }
}

/** The events of the call that the response requests. */
function storyOf(events: readonly AgentEvent[]): readonly string[] {
  return events.flatMap((event) => {
    if ('call' in event) return [`${event.type} ${JSON.stringify(event.call.input)}`]
    return 'callId' in event ? [event.type] : []
  })
}

test.each([
  [
    'a closed announcement with another input neither shows nor discards a call',
    'tool-input-closed',
    2,
    [
      'tool-input-closed {"n":2}',
      'tool-start {"n":1}',
      'tool-entered',
      'tool-call {"n":1}',
      'tool-settled',
      'tool-committed',
      'tool-end',
    ],
    ['1 begins', '1 is done'],
  ],
  [
    'a sealed one with another input discards it',
    'tool-call',
    2,
    [
      'tool-input-closed {"n":1}',
      'tool-start {"n":1}',
      'tool-entered',
      'tool-call {"n":2}',
      'tool-discarded',
      'tool-start {"n":1}',
      'tool-entered',
      'tool-end',
    ],
    ['1 begins', '1 is aborted', '1 begins', '1 is done'],
  ],
  [
    'a sealed one with the same input changes nothing',
    'tool-call',
    1,
    [
      'tool-input-closed {"n":1}',
      'tool-start {"n":1}',
      'tool-entered',
      'tool-call {"n":1}',
      'tool-settled',
      'tool-committed',
      'tool-end',
    ],
    ['1 begins', '1 is done'],
  ],
] as const)('%s (MA16, H8)', async (_, type, n, story, did) => {
  const log: string[] = []
  const look = tool({
    name: 'look',
    description: 'l',
    input: z.object({ n: z.number() }),
    effect: 'read',
    async execute({ n }, { signal }) {
      log.push(`${n} begins`)
      await sleep(20)
      log.push(`${n} is ${signal.aborted ? 'aborted' : 'done'}`)
    },
  }) as Tool
  const model = scriptedModel([respond(call('look', { n: 1 }), wait(50), say('so')), respond(say('Done'))])
  const middleware = [rewriting(type, n), startingEarly({ at: 'tool-input-closed' })]
  expect(storyOf(await eventsOf({ model, tools: [look], middleware }))).toEqual(story)
  expect(log).toEqual(did)
})

test('the progress of a hidden call replaces its own progress, and none of the agent inside it (MA16, I3, M4)', async () => {
  const step: Tool = tool({
    name: 'step',
    description: 's',
    input: z.object({}),
    effect: 'read',
    async *execute() {
      yield { progress: 0.5, message: 'inner' }
      await sleep(50)
    },
  }) as Tool
  const innerModel = scriptedModel([respond(call('step')), respond(say('Done'))])
  const inner = agentTool(createAgent({ name: 'inner', description: 'i', model: innerModel, tools: [step] }))
  const outer: Tool = tool({
    name: 'outer',
    description: 'o',
    input: z.object({}),
    effect: 'read',
    async *execute(_, context) {
      const running = inner.execute?.({ request: 'Go' }, context)
      await sleep(20)
      yield { progress: 0.1, message: 'first' }
      yield { progress: 0.2, message: 'second' }
      await running
    },
  }) as Tool
  const model = scriptedModel([respond(call('outer')), respond(say('Done'))])
  const events = await eventsOf({ model, tools: [outer], middleware: [holding(150), early] })
  const progress = events.flatMap((event) => (event.type === 'tool-progress' ? [event.message] : []))
  expect(progress).toEqual(['inner', 'second'])
})

test('the deltas of an agent in a hidden call are joined: its whole text and its ends arrive (W43)', async () => {
  const words = Array.from({ length: 3_000 }, (_, n) => `word${n} `)
  const inner = createAgent({
    name: 'inner',
    description: 'i',
    model: scriptedModel([respond(...words.map((word) => say(word)))]),
  })
  const asRead: Tool = { ...agentTool(inner), effect: 'read' } as Tool
  const model = scriptedModel([respond(call('inner', { request: 'Go' })), respond(say('Done'))])
  const inside = (await eventsOf({ model, tools: [asRead], middleware: [holding(150), early] })).filter(
    ({ path }) => path,
  )
  const deltas = inside.flatMap((event) => (event.type === 'text-delta' ? [event.delta] : []))
  expect(deltas.join('')).toBe(words.join(''))
  expect(deltas.length).toBeLessThan(MOST)
  expect(inside.slice(-3).map(({ type }) => type)).toEqual(['message', 'step-end', 'run-end'])
})

const warning: Tool = {
  name: 'warning',
  description: 'w',
  input: z.object({}),
  effect: 'read',
  execute: (_, { run }) => run?.warn({ code: 'careful', message: 'Careful.' }),
}

test('a warning of an early call waits until the call is committed (W43)', async () => {
  const model = scriptedModel([respond(call('warning'), wait(50), say('Well')), respond(say('Done'))])
  const events = await eventsOf({ model, tools: [warning], middleware: [early] })
  const types = events.map(({ type }) => type)
  expect(types.indexOf('warning')).toBeGreaterThan(types.indexOf('tool-committed'))
  expect(events.at(-1)).toMatchObject({
    type: 'run-end',
    result: { warnings: [{ code: 'careful', source: 'warning' }] },
  })
})

test('the warning of an early call whose result a pause keeps is in the result and in the checkpoint (W43)', async () => {
  const asks: Middleware = {
    name: 'asks',
    wrapModel: (request, next) =>
      map(next(request), (event) => {
        if (event.type === 'text-delta') throw interrupt('May I?')
        return event
      }),
  }
  const model = scriptedModel([respond(call('warning'), wait(50), say('Well'))])
  const events = await eventsOf({ model, tools: [warning], middleware: [asks, early] })
  const warnings = [{ code: 'careful', message: 'Careful.', source: 'warning' }]
  expect(events.at(-1)).toMatchObject({ type: 'run-end', result: { warnings, checkpoint: { warnings } } })
})

test('a call that is discarded leaves no warning (W43)', async () => {
  const model = scriptedModel([respond(call('warning'), wait(50), say('Well'))])
  const events = await eventsOf({ model, tools: [warning], middleware: [early, withdrawing('warning')] })
  expect(warningsIn(events)).toEqual([])
  expect(events.at(-1)).toMatchObject({ type: 'run-end', result: { warnings: [] } })
})

test('each event of an inner call, and the path of an agent in one, names the calls that make it (SE7, W49)', async () => {
  const expert = createAgent({
    name: 'expert',
    description: 'Tells.',
    model: scriptedModel([respond(call('tell', {}, { id: 't' })), respond(say('Told.'))]),
    tools: [telling(1)],
  })
  const calling: Tool = {
    ...warning,
    name: 'calling',
    execute: (_, { run }) =>
      run?.callTool({ type: 'tool-call', id: 'inside', name: 'expert', input: { request: '?' } }),
  }
  const model = scriptedModel([respond(call('calling', {}, { id: 'outside' })), respond(say('Done'))])
  const events = await eventsOf({ model, tools: [calling, agentTool(expert)], middleware: [early] })
  const said = events.flatMap((event) => {
    if (!('callId' in event) || event.type === 'question') return []
    const { path = [], makers = [], callId } = event
    return [[...path.flatMap((part) => [...(part.makers ?? []), part.callId]), ...makers, callId].join('/')]
  })
  expect(new Set(said)).toEqual(new Set(['outside', 'outside/inside', 'outside/inside/t']))
})

test('for a reader who comes late, the progress of a call does not replace that of a call with the same id that another tool makes (W49)', async () => {
  const report = tool({
    name: 'report',
    description: 'Reports.',
    input: z.object({ n: z.number() }),
    async *execute({ n }) {
      yield { message: `${n}` }
      return n
    },
  })
  const calling = tool({
    name: 'calling',
    description: 'Calls.',
    input: z.object({ n: z.number() }),
    execute: async (input, { run }) =>
      (await run?.callTool({ type: 'tool-call', id: 'x', name: 'report', input }))?.output,
  })
  const calls = [1, 2].map((n) => call('calling', { n }))
  const model = scriptedModel([respond(...calls), respond(say('Done'))])
  const run = createAgent({ model, tools: [report, calling] as Tool[] }).stream('Go')
  await vi.runAllTimersAsync()
  const { events } = await collect(run)
  expect(events.flatMap((event) => (event.type === 'tool-progress' ? [event.message] : []))).toEqual(['1', '2'])
})
