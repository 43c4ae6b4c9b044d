import { call, collect, respond, type ScriptStep, say, scriptedModel, think } from '@meanwhile/assemble/testing'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { startingEarly } from '../../test/early-calls.ts'
import {
  type AgentEvent,
  type AgentOptions,
  createAgent,
  type Middleware,
  map,
  type RunOptions,
  tool,
} from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** The events of a run that were read only after it had ended. */
async function readLate(options: AgentOptions, runOptions?: RunOptions): Promise<readonly AgentEvent[]> {
  const run = createAgent(options).stream('go', runOptions)
  await vi.runAllTimersAsync()
  await run.result
  return (await collect(run)).events
}

function types(events: readonly AgentEvent[]): string[] {
  return events.map(({ type }) => type)
}

function textDeltas(events: readonly AgentEvent[]): string[] {
  return events.flatMap((event) => (event.type === 'text-delta' ? [event.delta] : []))
}

function customs(events: readonly AgentEvent[]): unknown[] {
  return events.flatMap((event) => (event.type === 'custom' ? [event.data] : []))
}

/** Emits a number for each delta it sees, from 1. */
function counting(): Middleware {
  return {
    name: 'counting',
    async *wrapModel(request, next, run) {
      let count = 0
      return yield* map(next(request), (event) => {
        if (event.type === 'text-delta') run.emit({ name: 'delta', data: ++count })
        return event
      })
    },
  }
}

/** Emits this many numbers, from 1, and reports each as its progress. */
const count = tool({
  name: 'count',
  description: 'Counts',
  input: z.object({ to: z.number(), pause: z.number().optional() }),
  async *execute({ to, pause }, { run }) {
    for (let n = 1; n <= to; n++) {
      if (pause) await sleep(pause)
      run?.emit({ name: 'count', data: n })
      yield { progress: n / to, message: String(n) }
    }
    return to
  },
})

test('within its limit the buffer changes nothing (B12)', async () => {
  const model = () => scriptedModel([respond(say('one two three four five six'))])
  const late = await readLate({ model: model(), middleware: [counting()] }, { eventBuffer: 17 })
  expect(textDeltas(late)).toEqual(['one', ' two', ' three', ' four', ' five', ' six'])
  expect(customs(late)).toEqual([1, 2, 3, 4, 5, 6])
  expect(late.at(-1)).not.toHaveProperty('dropped')
})

test('beyond its limit neighbouring deltas of one part are joined, and nothing else is lost (B12)', async () => {
  const model = scriptedModel([
    respond(
      think('a b c', { deltas: 5 }),
      say('d e f', { deltas: 5 }),
      call('count', { to: 1, pause: 1 }, { deltas: 8 }),
      call('count', { to: 2, pause: 2 }, { deltas: 8 }),
    ),
    respond(say('g h i', { deltas: 5 })),
  ])
  const events = await readLate({ model, tools: [count] }, { eventBuffer: 4 })
  const short = events.flatMap((event): (string | string[])[] =>
    'delta' in event ? [[event.type, event.delta]] : [event.type],
  )
  expect(short.filter((event) => event !== 'custom')).toEqual([
    'run-start',
    'step-start',
    'attempt-start',
    ['reasoning-delta', 'a b c'],
    ['text-delta', 'd e f'],
    'tool-input-start',
    ['tool-input-delta', '{"to":1,"pause":1}'],
    'tool-input-closed',
    'tool-call',
    'tool-input-start',
    ['tool-input-delta', '{"to":2,"pause":2}'],
    'tool-input-closed',
    'tool-call',
    'message',
    'tool-start',
    'tool-start',
    'tool-entered',
    'tool-entered',
    'tool-progress',
    'tool-end',
    'tool-progress',
    'tool-end',
    'message',
    'message',
    'step-end',
    'step-start',
    'attempt-start',
    ['text-delta', 'g h i'],
    'message',
    'step-end',
    'run-end',
  ])
})

test('deltas of two calls that alternate are joined, each with those of its own call (B12)', async () => {
  const delta = (id: string, delta: string) => ({ type: 'tool-input-delta', id, delta }) as const
  const model = {
    provider: 'own',
    id: 'own',
    async *stream() {
      yield delta('a', '1')
      yield delta('a', '2')
      yield delta('b', '3')
      yield delta('a', '4')
      return { role: 'assistant', content: [{ type: 'text', text: 'Done' }], finishReason: 'stop' } as const
    },
  }
  const events = await readLate({ model }, { eventBuffer: 1 })
  expect(events.flatMap((event) => (event.type === 'tool-input-delta' ? [[event.id, event.delta]] : []))).toEqual([
    ['a', '124'],
    ['b', '3'],
  ])
})

test('deltas of two parallel attempts are each joined with their own (B12)', async () => {
  const both: Middleware = {
    name: 'both',
    async *wrapModel(request, next) {
      const flows = [next(request), next(request)]
      for (;;) {
        for (const flow of flows) {
          const step = await flow.next()
          if (step.done) return step.value
          yield step.value
        }
      }
    },
  }
  const model = scriptedModel([respond(say('a b')), respond(say('c d'))])
  const events = await readLate({ model, middleware: [both] }, { eventBuffer: 1 })
  const deltas = events.flatMap((event) => (event.type === 'text-delta' ? [[event.attempt, event.delta]] : []))
  expect(deltas).toEqual([
    [1, 'a'],
    [2, 'c d'],
    [1, ' b'],
  ])
})

test('the number of waiting events is bounded while text, reasoning and progress alternate (B12)', async () => {
  const ticking: Middleware = {
    name: 'ticking',
    async *wrapModel(request, next, run) {
      const ticks = { type: 'tool-call', id: 'ticks', name: 'count', input: { to: 500, pause: 2 } } as const
      run.callTool(ticks).catch(() => undefined)
      return yield* next(request)
    },
  }
  const model = {
    provider: 'own',
    id: 'own',
    async *stream() {
      for (let n = 0; n < 500; n++) {
        await sleep(2)
        yield { type: 'text-delta', delta: `t${n} ` } as const
        yield { type: 'reasoning-delta', delta: `r${n} ` } as const
      }
      return { role: 'assistant', content: [{ type: 'text', text: 'Done' }], finishReason: 'stop' } as const
    },
  }
  const events = await readLate({ model, tools: [count], middleware: [ticking] }, { eventBuffer: 10 })
  expect(events.length).toBeLessThan(20)
  const text = (kind: 't' | 'r') => Array.from({ length: 500 }, (_, n) => `${kind}${n} `).join('')
  expect(textDeltas(events).join('')).toBe(text('t'))
  expect(events.flatMap((event) => (event.type === 'reasoning-delta' ? [event.delta] : [])).join('')).toBe(text('r'))
})

test('beyond its limit the oldest custom events are dropped, and run-end contains their number (B12)', async () => {
  const model = scriptedModel([respond(call('count', { to: 50 })), respond(say('Done', { deltas: 1 }))])
  const events = await readLate({ model, tools: [count] }, { eventBuffer: 26 })
  expect(events.length).toBeLessThanOrEqual(27)
  const kept = customs(events)
  expect(kept.length).toBeGreaterThan(0)
  expect(kept).toEqual(Array.from(kept, (_, index) => 50 - kept.length + 1 + index))
  expect(events.at(-1)).toMatchObject({ type: 'run-end', dropped: 50 - kept.length })
})

test('with nothing older to drop a custom event is itself dropped (B12)', async () => {
  const model = scriptedModel([respond(say('one', { deltas: 1 }))])
  const events = await readLate({ model, middleware: [counting()] }, { eventBuffer: 2 })
  expect(types(events)).toEqual([
    'run-start',
    'step-start',
    'attempt-start',
    'text-delta',
    'message',
    'step-end',
    'run-end',
  ])
  expect(events.at(-1)).toMatchObject({ dropped: 1 })
})

test('a waiting event is examined equally often, however many others wait (B12)', async () => {
  const looksAt = async (count: number) => {
    let looks = 0
    const heard = (runId: string): AgentEvent => ({
      runId,
      get type() {
        looks++
        return 'warning' as const
      },
      code: 'heard',
      message: 'heard',
      source: 'talking',
    })
    const talking: Middleware = {
      name: 'talking',
      async *wrapAgent(setup, next, run) {
        for (let i = 0; i < count; i++) yield heard(run.id)
        return yield* next(setup)
      },
    }
    await readLate({ model: scriptedModel([respond(say('Hi'))]), middleware: [talking] }, { eventBuffer: 10 })
    return looks
  }
  const [some, more, most] = [await looksAt(1_000), await looksAt(2_000), await looksAt(3_000)]
  expect(most - more).toBe(more - some)
})

test('by default 1,024 events may wait (B12)', async () => {
  const words = Array.from({ length: 2_000 }, (_, index) => `${index} `)
  const model = scriptedModel([respond(say(words.join(''), { deltas: words }))])
  const events = await readLate({ model })
  const deltas = textDeltas(events)
  expect(deltas.slice(0, 1_020)).toEqual(words.slice(0, 1_020))
  expect(deltas.slice(1_020)).toEqual([words.slice(1_020).join('')])
  expect(types(events).filter((type) => type !== 'text-delta')).toEqual([
    'run-start',
    'step-start',
    'attempt-start',
    'message',
    'step-end',
    'run-end',
  ])
})

test('one progress per call waits, the newest, at its place in the order (I3)', async () => {
  const model = scriptedModel([
    respond(call('count', { to: 100, pause: 2 }), call('count', { to: 50, pause: 3 })),
    respond(say('Done', { deltas: 1 })),
  ])
  const events = await readLate({ model, tools: [count] })
  const reported = events.filter(({ type }) => type === 'tool-progress' || type === 'tool-end')
  expect(reported).toMatchObject([
    { type: 'tool-progress', callId: 'call_1_2', progress: 1, message: '50' },
    { type: 'tool-end', callId: 'call_1_2', message: { output: 50 } },
    { type: 'tool-progress', callId: 'call_1_1', progress: 1, message: '100' },
    { type: 'tool-end', callId: 'call_1_1', message: { output: 100 } },
  ])
  const before = events.slice(
    0,
    events.findIndex(({ type }) => type === 'tool-progress'),
  )
  expect(customs(before).slice(-3)).toEqual([49, 74, 50])
})

test('a waiting progress does not pass the commit of its call (I3, B8)', async () => {
  const early = startingEarly({ at: 'tool-input-closed' })
  const model = scriptedModel([respond(call('count', { to: 4, pause: 5 })), respond(say('Done', { deltas: 1 }))], {
    pace: { firstToken: 0, betweenTokens: 1 },
  })
  const slow = scriptedModel([respond(call('count', { to: 4, pause: 5 }), say('a b c d')), respond(say('Done'))], {
    pace: { firstToken: 0, betweenTokens: 3 },
  })
  for (const one of [model, slow]) {
    const events = await readLate({ model: one, tools: [count], middleware: [early] })
    const reported = events.filter(({ type }) => type === 'tool-progress' || type === 'tool-committed')
    expect(reported).toMatchObject([{ type: 'tool-committed' }, { type: 'tool-progress', message: '4' }])
    expect(reported[1]).not.toHaveProperty('provisional')
  }
})

test('a slow reader receives each progress that is current when it reads, and no tool waits for it (I3)', async () => {
  const model = scriptedModel([respond(call('count', { to: 10, pause: 10 })), respond(say('Done'))])
  const run = createAgent({ model, tools: [count] }).stream('go')
  const start = Date.now()
  let ended = 0
  const seen: (number | undefined)[] = []
  const reading = (async () => {
    for await (const event of run) {
      if (event.type === 'tool-progress') {
        seen.push(event.progress)
        await sleep(34)
      }
    }
  })()
  run.result.then(
    () => {
      ended = Date.now() - start
    },
    () => undefined,
  )
  await vi.runAllTimersAsync()
  await reading
  // It reads the first at 10 ms; at 44, 78 and 112 ms it receives what was newest then.
  expect(seen).toEqual([0.1, 0.4, 0.7, 1])
  expect(ended).toBe(100)
})

test('whenever its reader looks, no buffer loses, doubles or reorders more than it may (B12, I3)', async () => {
  const steps = fc.array(
    fc.oneof(
      fc.constantFrom<ScriptStep>(say('one two three'), think('four five'), say(' six')),
      fc
        .record({ to: fc.integer({ min: 0, max: 6 }), pause: fc.integer({ min: 0, max: 5 }) })
        .map((input) => call('count', input)),
    ),
    { minLength: 1, maxLength: 6 },
  )
  const pauses = fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 1 })
  await fc.assert(
    fc.asyncProperty(steps, pauses, fc.integer({ min: 1, max: 12 }), async (steps, pauses, eventBuffer) => {
      const read = async (pauses: readonly number[], eventBuffer: number) => {
        const model = scriptedModel([respond(...steps), respond(say('Done with it'))], {
          pace: { firstToken: 3, betweenTokens: 1 },
        })
        const run = createAgent({ model, tools: [count] }).stream('go', { eventBuffer })
        const events: AgentEvent[] = []
        const reading = (async () => {
          for await (const event of run) {
            events.push(event)
            await sleep(pauses[events.length % pauses.length] ?? 0)
          }
        })()
        await vi.runAllTimersAsync()
        await reading
        return events
      }
      const whole = await read([0], 100_000)
      const squeezed = await read(pauses, eventBuffer)

      const certain = (events: readonly AgentEvent[]) =>
        events.flatMap((event) => {
          if ('delta' in event || event.type === 'custom' || event.type === 'tool-progress') return []
          return [[event.type, 'callId' in event && event.callId, 'call' in event && event.call.id]]
        })
      expect(certain(squeezed)).toEqual(certain(whole))
      // Between two events that are never dropped the deltas make up the same text.
      expect(texts(squeezed)).toEqual(texts(whole))

      const last = squeezed.at(-1)
      const dropped = last?.type === 'run-end' ? (last.dropped ?? 0) : Number.NaN
      expect(inOrder(squeezed, whole, 'custom')).toHaveLength(inOrder(whole, whole, 'custom').length - dropped)
      const ids = new Set(whole.flatMap((event) => (event.type === 'tool-progress' ? [event.callId] : [])))
      for (const id of ids) {
        const ofCall = (events: readonly AgentEvent[]) =>
          events.filter((event) => event.type === 'tool-progress' && event.callId === id)
        inOrder(ofCall(squeezed), ofCall(whole), 'tool-progress')
        // The last one is never lost.
        expect(ofCall(squeezed).at(-1)).toMatchObject({ progress: 1 })
      }
    }),
    propertyRuns({ small: 20, middle: 30, whole: 60 }),
  )
})

/** The deltas of each kind, by the number of step and tool events before them. */
function texts(events: readonly AgentEvent[]): Record<string, string> {
  const texts: Record<string, string> = {}
  for (const event of events) {
    if (!('delta' in event)) continue
    const key = [event.step, event.type, 'id' in event ? event.id : ''].join('/')
    texts[key] = (texts[key] ?? '') + event.delta
  }
  return texts
}

/** The events of a type in short, each of which must be among the whole ones, in their order. */
function inOrder(events: readonly AgentEvent[], whole: readonly AgentEvent[], type: AgentEvent['type']): string[] {
  const short = (events: readonly AgentEvent[]) =>
    events
      .filter((event) => event.type === type)
      .map((event) => JSON.stringify({ ...event, runId: undefined, timestamp: undefined }))
  const all = short(whole)
  let at = -1
  for (const one of short(events)) {
    const found = all.indexOf(one, at + 1)
    expect(found).toBeGreaterThan(at)
    at = found
  }
  return short(events)
}
