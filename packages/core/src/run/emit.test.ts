import { call, collect, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { early } from '../../test/early-calls.ts'
import { type AgentEvent, type CustomEvent, createAgent, type Middleware, map, type Run, tool } from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

async function eventsOf(options: Parameters<typeof createAgent>[0]): Promise<readonly AgentEvent[]> {
  const reading = collect(createAgent(options).stream('go'))
  await vi.runAllTimersAsync()
  return (await reading).events
}

function customs(events: readonly AgentEvent[]) {
  return events.filter((event) => event.type === 'custom')
}

/** Emits in each of its hooks and wraps, with the hook's name. */
function chatty(name: string): Middleware {
  return {
    name,
    beforeAgent: (_, run) => run.emit({ name: 'beforeAgent', data: null }),
    beforeModel: (_, run) => run.emit({ name: 'beforeModel', data: null }),
    afterModel: (_, run) => run.emit({ name: 'afterModel', data: null }),
    beforeFinalAnswer: (_, run) => run.emit({ name: 'beforeFinalAnswer', data: null }),
    async *wrapAgent(setup, next, run) {
      run.emit({ name: 'wrapAgent in', data: null })
      const result = yield* next(setup)
      run.emit({ name: 'wrapAgent out', data: null })
      return result
    },
    async *wrapModel(request, next, run) {
      run.emit({ name: 'wrapModel in', data: null })
      const message = yield* next(request)
      run.emit({ name: 'wrapModel out', data: null })
      return message
    },
    async *wrapToolCall(call, next, run) {
      run.emit({ name: 'wrapToolCall in', data: null })
      const message = yield* next(call)
      run.emit({ name: 'wrapToolCall out', data: null })
      return message
    },
  }
}

const emitting = tool({
  name: 'emitting',
  description: 'Emits',
  input: z.object({}),
  execute(_, { run }) {
    run?.emit({ name: 'execute', data: { part: [1, 2] } })
  },
})

test('emit is an event in order with all others, from hooks, wraps and tools, with its source (D6)', async () => {
  const model = scriptedModel([respond(call('emitting')), respond(say('Done', { deltas: 1 }))])
  const events = await eventsOf({ model, tools: [emitting], middleware: [chatty('chatty')] })
  const runId = events[0]?.runId
  expect(customs(events).find(({ name }) => name === 'execute')).toEqual({
    runId,
    step: 1,
    type: 'custom',
    name: 'execute',
    data: { part: [1, 2] },
    source: 'emitting',
    callId: 'call_1_1',
    toolName: 'emitting',
  })
  expect(
    events.map((event) =>
      event.type === 'custom' ? [event.name, event.source, ...(event.callId ? [event.callId] : [])] : event.type,
    ),
  ).toEqual([
    'run-start',
    ['beforeAgent', 'chatty'],
    ['wrapAgent in', 'chatty'],
    'step-start',
    ['beforeModel', 'chatty'],
    ['wrapModel in', 'chatty'],
    'attempt-start',
    'tool-input-start',
    'tool-input-delta',
    'tool-call',
    ['wrapModel out', 'chatty'],
    'message',
    ['afterModel', 'chatty'],
    'tool-start',
    ['wrapToolCall in', 'chatty', 'call_1_1'],
    'tool-entered',
    ['execute', 'emitting', 'call_1_1'],
    ['wrapToolCall out', 'chatty', 'call_1_1'],
    'tool-end',
    'message',
    'step-end',
    'step-start',
    ['beforeModel', 'chatty'],
    ['wrapModel in', 'chatty'],
    'attempt-start',
    'text-delta',
    ['wrapModel out', 'chatty'],
    'message',
    ['afterModel', 'chatty'],
    ['beforeFinalAnswer', 'chatty'],
    'step-end',
    ['wrapAgent out', 'chatty'],
    'run-end',
  ])
})

test('the reader receives what a hook emits while the hook is still running (D6)', async () => {
  const slow: Middleware = {
    name: 'slow',
    async beforeModel(_, run) {
      run.emit({ name: 'begun', data: null })
      await sleep(100)
      run.emit({ name: 'half', data: null })
      await sleep(100)
    },
  }
  const run = createAgent({ model: scriptedModel([respond(say('Hi'))]), middleware: [slow] }).stream('go')
  const start = Date.now()
  const seen: [at: number, name: string][] = []
  const reading = (async () => {
    for await (const event of run) if (event.type === 'custom') seen.push([Date.now() - start, event.name])
  })()
  await vi.runAllTimersAsync()
  await reading
  expect(seen).toEqual([
    [0, 'begun'],
    [100, 'half'],
  ])
})

test('a wrap may yield one instead, and its source is the name of the wrap unless the event has another (D6)', async () => {
  const yielding = (name: string): Middleware => ({
    name,
    async *wrapAgent(setup, next, run) {
      yield { runId: run.id, type: 'custom', name: 'agent', data: null, source: name }
      return yield* next(setup)
    },
    async *wrapModel(request, next) {
      yield { type: 'custom', name: 'model', data: null }
      return yield* next(request)
    },
    async *wrapToolCall(call, next) {
      yield { type: 'custom', name: 'call', data: null }
      yield { type: 'custom', name: 'call', data: null, source: `friend of ${name}` }
      return yield* next(call)
    },
  })
  const model = scriptedModel([respond(call('emitting')), respond(say('Done'))])
  const events = await eventsOf({ model, tools: [emitting], middleware: [yielding('outer'), yielding('inner')] })
  expect(customs(events).map(({ step, name, source, callId }) => [step, name, source, callId])).toEqual([
    [undefined, 'agent', 'outer', undefined],
    [undefined, 'agent', 'inner', undefined],
    [1, 'model', 'outer', undefined],
    [1, 'model', 'inner', undefined],
    [1, 'call', 'outer', 'call_1_1'],
    [1, 'call', 'friend of outer', 'call_1_1'],
    [1, 'call', 'inner', 'call_1_1'],
    [1, 'call', 'friend of inner', 'call_1_1'],
    [1, 'execute', 'emitting', 'call_1_1'],
    [2, 'model', 'outer', undefined],
    [2, 'model', 'inner', undefined],
  ])
})

test('events that one wrap emits and yields come in their order (D6)', async () => {
  const both: Middleware = {
    name: 'both',
    async *wrapModel(request, next, run) {
      run.emit({ name: 'model', data: 1 })
      yield { type: 'custom', name: 'model', data: 2 }
      run.emit({ name: 'model', data: 3 })
      return yield* next(request)
    },
    async *wrapToolCall(call, next, run) {
      run.emit({ name: 'call', data: 1 })
      yield { type: 'custom', name: 'call', data: 2 }
      run.emit({ name: 'call', data: 3 })
      return yield* next(call)
    },
  }
  const model = scriptedModel([respond(call('emitting')), respond(say('Done'))])
  const events = await eventsOf({ model, tools: [emitting], middleware: [both] })
  expect(customs(events).map(({ name, data }) => [name, data])).toEqual([
    ['model', 1],
    ['model', 2],
    ['model', 3],
    ['call', 1],
    ['call', 2],
    ['call', 3],
    ['execute', { part: [1, 2] }],
    ['model', 1],
    ['model', 2],
    ['model', 3],
  ])
})

test('an event that a wrapAgent emits arrives at once, and does not pass through the wrapAgents (D6)', async () => {
  const heard: string[] = []
  const talking: Middleware = {
    name: 'talking',
    async *wrapAgent(setup, next, run) {
      const yielded = (data: number) =>
        ({ runId: run.id, type: 'custom', name: 'agent', data, source: 'talking' }) as const
      run.emit({ name: 'agent', data: 1 })
      yield yielded(2)
      run.emit({ name: 'agent', data: 3 })
      await sleep(100)
      run.warn({ code: 'slow', message: 'Slow' })
      const result = yield* map(next(setup), (event) => {
        heard.push(event.type)
        run.emit({ name: 'heard', data: event.type })
        return event
      })
      run.emit({ name: 'agent', data: 4 })
      yield yielded(5)
      return result
    },
  }
  const model = scriptedModel([respond(say('Hi', { deltas: 1 }))])
  const run = createAgent({ model, middleware: [talking] }).stream('go')
  const start = Date.now()
  const seen: [at: number, what: unknown][] = []
  const reading = (async () => {
    for await (const event of run) seen.push([Date.now() - start, event.type === 'custom' ? event.data : event.type])
  })()
  await vi.runAllTimersAsync()
  await reading
  expect(heard).toEqual(['step-start', 'attempt-start', 'text-delta', 'message', 'step-end'])
  // It emits for an event before it passes that event on.
  expect(seen).toEqual([
    [0, 'run-start'],
    ...[1, 2, 3].map((data) => [0, data]),
    [100, 'warning'],
    ...heard.flatMap((type) => [type, type]).map((type) => [100, type]),
    ...[4, 5, 'run-end'].map((what) => [100, what]),
  ])
})

test('emitted events reach neither history nor request (D6)', async () => {
  const model = scriptedModel([respond(call('emitting')), respond(say('Done'))])
  const silent = scriptedModel([respond(call('emitting')), respond(say('Done'))])
  const mute = tool({ ...emitting, execute: () => undefined })
  const { messages } = await createAgent({ model, tools: [emitting], middleware: [chatty('chatty')] }).run('go')
  const { messages: same } = await createAgent({ model: silent, tools: [mute] }).run('go')
  expect(messages).toEqual(same)
  const said = ({ requests }: typeof model) => requests.map((request) => request.messages)
  expect(said(model)).toEqual(said(silent))
})

test('after the end of a run emit does nothing, and does not throw (D7)', async () => {
  const runs: Run[] = []
  const keeping: Middleware = {
    name: 'keeping',
    beforeAgent: (_, run) => void runs.push(run),
    async *wrapToolCall(call, next, run) {
      runs.push(run)
      return yield* next(call)
    },
  }
  const keeper = tool({
    name: 'keeper',
    description: 'Keeps its run',
    input: z.object({}),
    execute: (_, { run }) => void runs.push(run as Run),
  })
  const model = scriptedModel([respond(call('keeper')), respond(say('Done'))])
  const run = createAgent({ model, tools: [keeper], middleware: [keeping] }).stream('go')
  const result = await run.result
  expect(runs).toHaveLength(3)
  for (const late of runs) {
    expect(late.emit({ name: 'late', data: null })).toBeUndefined()
    late.warn({ code: 'late', message: 'too late' })
  }
  const { events } = await collect(run)
  expect(events.at(-1)).toEqual({ runId: run.id, type: 'run-end', result })
  expect(customs(events)).toEqual([])
  expect(result.warnings).toEqual([])
})

test('a call that has its result emits nothing more (D7)', async () => {
  const late = tool({
    name: 'late',
    description: 'Emits when it is over',
    input: z.object({}),
    execute(_, { run }) {
      setTimeout(() => run?.emit({ name: 'late', data: null }), 10)
    },
  })
  const model = scriptedModel([respond(call('late')), respond(wait(100), say('Done'))])
  expect(customs(await eventsOf({ model, tools: [late] }))).toEqual([])
})

/** Emits every 40 ms, ten times, whatever its signal does. */
const stubborn = tool({
  name: 'stubborn',
  description: 'Goes on',
  effect: 'read',
  input: z.object({}),
  async execute(_, { run }) {
    for (let n = 1; n <= 10; n++) {
      await sleep(40)
      run?.emit({ name: 'still', data: n })
    }
  },
})

test('an abandoned call emits nothing more (D7)', async () => {
  const controller = new AbortController()
  const model = scriptedModel([respond(call('stubborn'))])
  const agent = createAgent({ model, tools: [stubborn], grace: 100 })
  const reading = collect(agent.stream('go', { signal: controller.signal }))
  await vi.advanceTimersByTimeAsync(50)
  controller.abort()
  await vi.runAllTimersAsync()
  const { events, error } = await reading
  expect(error).toMatchObject({ abandoned: ['call_1_1'] })
  expect(customs(events).map(({ data }) => data)).toEqual([1, 2, 3])
})

test('a discarded call emits nothing more (D7)', async () => {
  const withdrawing: Middleware = {
    name: 'withdrawing',
    afterModel({ messages }) {
      const last = messages.at(-1)
      if (last?.role !== 'assistant' || messages.length > 2) return
      return { messages: [...messages.slice(0, -1), { ...last, content: [{ type: 'text', text: 'Never mind' }] }] }
    },
    async beforeFinalAnswer() {
      await sleep(500)
    },
  }
  const model = scriptedModel([respond(call('stubborn'), wait(100))])
  const events = await eventsOf({ model, tools: [stubborn], middleware: [withdrawing, early] })
  expect(customs(events).map(({ data }) => data)).toEqual([1, 2])
  expect(events.map(({ type }) => type).slice(-5)).toEqual([
    'message',
    'history-replaced',
    'tool-discarded',
    'step-end',
    'run-end',
  ])
})

const paused = z.object({ pauses: z.array(z.number()) })

test('whatever runs in parallel, the reader receives the events in the order in which they happened (D6)', async () => {
  const pauses = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(pauses, { minLength: 1, maxLength: 5 }),
      pauses,
      fc.integer({ min: 0, max: 3 }),
      fc.boolean(),
      async (calls, deltas, betweenTokens, early) => {
        let said = 0
        const all: [source: string, data: number][] = []
        const emit = (run: Run, source: string) => {
          all.push([source, ++said])
          run.emit({ name: 'said', data: said })
        }
        const yielded = (source: string): Omit<CustomEvent, 'source'> => {
          all.push([source, ++said])
          return { type: 'custom', name: 'said', data: said }
        }
        const busy = tool({
          name: 'busy',
          description: 'Emits',
          input: paused,
          async execute({ pauses }, { run }) {
            emit(run as Run, 'busy')
            for (const pause of pauses) {
              if (pause > 0) await sleep(pause)
              emit(run as Run, 'busy')
              if (pause === 2) emit(run as Run, 'busy')
            }
          },
        })
        const watching: Middleware = {
          name: 'watching',
          async beforeModel(_, run) {
            for (const pause of deltas) {
              emit(run, 'watching')
              await sleep(pause)
            }
            emit(run, 'watching')
          },
          async *wrapModel(request, next, run) {
            yield yielded('watching')
            const flow = next(request)
            for (;;) {
              const step = await flow.next()
              if (step.done) return step.value
              if (early && step.value.type === 'tool-call') run.callTool(step.value.call).catch(() => undefined)
              emit(run, 'watching')
              yield step.value
            }
          },
        }
        const model = scriptedModel(
          [respond(...calls.map((pauses) => call('busy', { pauses }, { deltas: 1 }))), respond(say('Done with it'))],
          { pace: { firstToken: 1, betweenTokens } },
        )
        const events = await eventsOf({ model, tools: [busy], middleware: [watching] })
        const seen = customs(events).map(({ source, data }): (typeof all)[number] => [source, Number(data)])
        if (early) {
          // Events of an early call arrive only after the event that announces it has passed the wraps.
          for (const source of ['busy', 'watching']) {
            const of = (list: typeof all) => list.filter(([one]) => one === source)
            expect(of(seen)).toEqual(of(all))
          }
        } else expect(seen).toEqual(all)
      },
    ),
    propertyRuns({ small: 20, middle: 30, whole: 60 }),
  )
})
