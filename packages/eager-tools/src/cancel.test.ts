import { call, collect, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import {
  type AgentEvent,
  type Checkpoint,
  createAgent,
  type Effect,
  interrupt,
  type Middleware,
  type Model,
  type Tool,
  tool,
} from '@meanwhile/core'
import { sleep } from '@meanwhile/tests/clock'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { eagerTools } from './index.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const log: string[] = []
const undone: string[] = []

/** Takes this many milliseconds and reacts to its signal. */
function work(name: string, ms: number, effect: Effect): Tool {
  return tool({
    name,
    description: name,
    input: z.object({}),
    effect,
    compensate: () => void undone.push(name),
    async execute(_, { signal, attempt }) {
      log.push(`${name} ${attempt}`)
      await sleep(ms, signal)
      return `${name} done`
    },
  }) as Tool
}

/** Each response follows from the history of its request. Tokens come every 10 ms. */
function modelOf(responses: readonly ScriptResponse[]): Model & { asked: number } {
  return {
    provider: 'p',
    id: 'm',
    asked: 0,
    stream(request) {
      this.asked++
      const turn = request.messages.filter(({ role }) => role === 'assistant').length
      const response = responses[turn] ?? respond(say('Done.'))
      return scriptedModel([response], { pace: { firstToken: 10, betweenTokens: 10 } }).stream(request)
    },
  }
}

const named = (name: string) => call(name, {}, { id: name, deltas: 1 })

function start(responses: readonly ScriptResponse[], tools: readonly Tool[], middleware: readonly Middleware[] = []) {
  log.length = 0
  undone.length = 0
  const model = modelOf(responses)
  const agent = createAgent({ model, tools, middleware: [...middleware, eagerTools()], grace: 1_000 })
  const run = agent.stream('Go')
  return { agent, model, run, reading: collect(run) }
}

async function ended<Read>(reading: Promise<Read>): Promise<Read> {
  await vi.runAllTimersAsync()
  expect(vi.getTimerCount()).toBe(0)
  return await reading
}

const ofTools = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => {
    if (event.type === 'tool-discarded') return [`${event.type} ${event.callId} ${event.cause}`]
    if (event.type === 'tool-start' || event.type === 'tool-end' || event.type === 'tool-committed') {
      const marks = ['provisional', 'rerun'].filter((mark) => mark in event)
      return [[event.type, event.callId, ...marks].join(' ')]
    }
    return []
  })

const stored = (checkpoint: Checkpoint | undefined) => JSON.parse(JSON.stringify(checkpoint)) as Checkpoint

test('cancel now discards an open early call for the reader; its entry stays, and the resumed step calls the model again (H39, O9, K4, P8)', async () => {
  const tools = [work('fast', 5, 'read'), work('slow', 500, 'read'), work('book', 500, 'idempotent')]
  const response = respond(named('fast'), named('slow'), named('book'), wait(300))
  const { agent, model, run, reading } = start([response], tools)
  await vi.advanceTimersByTimeAsync(100)
  expect(log).toEqual(['fast 1', 'slow 1', 'book 1'])
  void run.cancel()
  const { events, result } = await ended(reading)
  const cutOff = { role: 'assistant', cutOff: true, content: [{ id: 'fast' }, { id: 'slow' }, { id: 'book' }] }
  const answers = [
    { callId: 'fast', output: 'fast done' },
    ...['slow', 'book'].map((callId) => ({ callId, isError: true })),
  ]
  expect(result).toMatchObject({ status: 'cancelled', messages: [{ role: 'user' }, cutOff, ...answers] })
  expect(ofTools(events)).toEqual([
    'tool-start fast provisional',
    'tool-start slow provisional',
    'tool-start book provisional',
    'tool-discarded fast run_aborted',
    'tool-discarded slow run_aborted',
    'tool-discarded book run_aborted',
  ])
  expect(
    result?.checkpoint?.calls.map(({ call, effect, message }) => [call.name, effect, message !== undefined]),
  ).toEqual([
    ['fast', 'read', true],
    ['slow', 'read', false],
    ['book', 'idempotent', false],
  ])
  log.length = 0
  const { events: later, result: final } = await ended(collect(agent.resume(stored(result?.checkpoint))))
  expect(model.asked).toBe(3)
  // The settled call is joined, the read that was cut off runs again, and the outcome of the other is unknown.
  expect(log).toEqual(['slow 2'])
  expect(final).toMatchObject({ status: 'completed', unknown: ['book_1'] })
  expect(
    final?.messages.flatMap((message) => (message.role === 'tool' ? [[message.name, message.isError ?? false]] : [])),
  ).toEqual([
    ['fast', false],
    ['slow', false],
    ['book', true],
  ])
  const ends = ofTools(later).filter((line) => line.startsWith('tool-end'))
  expect(ends.toSorted()).toEqual(['tool-end book_1', 'tool-end fast_1', 'tool-end slow_1'])
})

test('calls started by a cancelled response that the next response does not contain are discarded and undone then (O9, H22, H23)', async () => {
  const slow = work('slow', 500, 'read')
  const book = work('book', 5, 'reversible')
  const responses = [respond(named('slow'), named('book'), wait(300))]
  const { agent, model, run, reading } = start(responses, [slow, book])
  await vi.advanceTimersByTimeAsync(100)
  void run.cancel()
  const { result } = await ended(reading)
  // An effect that the checkpoint has as done is not undone.
  expect(undone).toEqual([])
  responses[0] = respond(say('Never mind.'))
  const { events, result: final } = await ended(collect(agent.resume(stored(result?.checkpoint))))
  expect(final).toMatchObject({ status: 'completed', text: 'Never mind.' })
  expect(model.asked).toBe(2)
  expect(log).toEqual(['slow 1', 'book 1'])
  expect(events.some(({ type }) => type === 'tool-start' || type === 'tool-end')).toBe(false)
  expect(undone).toEqual(['book'])
})

test('with after-model, running early calls get the grace time and are kept if they settle: no resume repeats them (O8, K5, K14)', async () => {
  const tools = [
    work('soon', 500, 'read'),
    work('late', 5_000, 'read'),
    work('book', 20, 'reversible'),
    work('send', 1, 'external'),
  ]
  const responses = [respond(named('soon'), named('late'), named('book'), named('send'))]
  const { agent, model, run, reading } = start(responses, tools)
  await vi.advanceTimersByTimeAsync(75)
  expect(log).toEqual(['soon 1', 'late 1', 'book 1'])
  void run.cancel({ at: 'after-model' })
  const { events, result } = await ended(reading)
  expect(result?.status).toBe('cancelled')
  expect(undone).toEqual([])
  expect(
    result?.messages.flatMap((message) =>
      message.role === 'tool' ? [[message.callId, message.isError ?? false]] : [],
    ),
  ).toEqual([
    ['soon', false],
    ['late', true],
    ['book', false],
    ['send', true],
  ])
  // Kept calls are neither committed nor discarded: the resume commits them.
  expect(ofTools(events)).toEqual([
    'tool-start soon provisional',
    'tool-start late provisional',
    'tool-start book provisional',
    'tool-discarded late run_aborted',
  ])
  log.length = 0
  const { events: later, result: final } = await ended(collect(agent.resume(stored(result?.checkpoint))))
  expect(log).toEqual(['late 2', 'send 1'])
  expect(model.asked).toBe(2)
  expect(ofTools(later)).toEqual([
    'tool-committed soon',
    'tool-end soon',
    'tool-start late rerun',
    'tool-committed book',
    'tool-end book',
    'tool-start send',
    'tool-end send',
    'tool-end late',
  ])
  const undisturbed = createAgent({ model: modelOf(responses), tools }).run('Go')
  await vi.runAllTimersAsync()
  expect(final?.messages).toEqual((await undisturbed).messages)
})

test('with after-model no further call of the continuing stream starts early (K5, K7)', async () => {
  const tools = [work('one', 10, 'read'), work('two', 10, 'read')]
  const responses = [respond(named('one'), wait(100), named('two'))]
  const { agent, run, reading } = start(responses, tools)
  await vi.advanceTimersByTimeAsync(60)
  void run.cancel({ at: 'after-model' })
  const { events, result } = await ended(reading)
  expect(log).toEqual(['one 1'])
  expect(ofTools(events)).toEqual(['tool-start one provisional'])
  const { events: later } = await ended(collect(agent.resume(stored(result?.checkpoint))))
  expect(log).toEqual(['one 1', 'two 1'])
  expect(ofTools(later).toSorted()).toEqual(['tool-committed one', 'tool-end one', 'tool-end two', 'tool-start two'])
})

test('an early call that waits for its response to be accepted delays no interrupt (K17, L3)', async () => {
  // Its effect turns out to be stronger than what was known when it started.
  const sly = tool({
    name: 'sly',
    description: 's',
    input: z.object({}),
    effect: () => (checks++ === 0 ? 'read' : 'external'),
    execute: () => void log.push('sly'),
  }) as Tool
  let checks = 0
  const asking: Middleware = {
    name: 'asking',
    afterModel(_, run) {
      if (run.step === 1 && run.answers.length === 0) throw interrupt('May I?')
    },
  }
  const { agent, reading } = start([respond(named('sly'), wait(100))], [sly], [asking])
  const { result } = await ended(reading)
  expect(result?.status).toBe('interrupted')
  expect(log).toEqual([])
  const answers = { [result?.interrupts?.[0]?.id ?? '']: 'Yes' }
  const { result: final } = await ended(collect(agent.resume(stored(result?.checkpoint), answers)))
  expect(final?.status).toBe('completed')
  expect(log).toEqual(['sly'])
})
