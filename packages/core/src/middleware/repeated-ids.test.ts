import { call, collect, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { startingEarly } from '../../test/early-calls.ts'
import {
  type AgentEvent,
  type AssistantMessage,
  type AssistantPart,
  createAgent,
  type Effect,
  type Message,
  type Middleware,
  type Model,
  type Tool,
  tool,
} from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers()
  executed.length = 0
  undone.length = 0
})
afterEach(() => {
  vi.useRealTimers()
})

const executed: string[] = []
const undone: number[] = []

const tools = (['read', 'idempotent', 'reversible', 'external'] as const).map(
  (effect) =>
    tool({
      name: effect,
      description: effect,
      input: z.object({ n: z.number() }),
      effect,
      ...(effect === 'reversible' && { compensate: ({ n }: { readonly n: number }) => void undone.push(n) }),
      async execute({ n }) {
        executed.push(`${effect} ${n}`)
        await sleep(1)
      },
    }) as Tool,
)

const EFFECTS: readonly Effect[] = ['read', 'idempotent', 'reversible', 'external']

/** Starts all calls except external ones. */
const early = startingEarly({ only: ({ name }) => name !== 'external' })

const toolCall = (id: string, name: string, n = 1) => ({ type: 'tool-call', id, name, input: { n } }) as const

const answer = (...content: readonly AssistantPart[]): AssistantMessage => ({
  role: 'assistant',
  content,
  finishReason: 'tool-calls',
})

/** A run whose model requests one call, `c1`, of the tool with this effect, unless the test passes a model. */
async function ran(effect: Effect, middleware: readonly Middleware[], model?: Model) {
  const asking = scriptedModel([respond(call(effect, { n: 1 }, { id: 'c1' }), wait(20)), respond(say('Done.'))])
  const reading = collect(createAgent({ model: model ?? asking, tools, middleware }).stream('Go'))
  await vi.runAllTimersAsync()
  const { events, result, error } = await reading
  return { result, error, told: toldOf(events) }
}

const toldOf = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => ('callId' in event && event.type !== 'tool-start' ? [[event.type, event.callId]] : []))

/** The last message with its calls as this function leaves them. */
const editing = (edit: (call: AssistantPart) => readonly AssistantPart[]): Middleware => ({
  name: 'editing',
  afterModel({ messages }) {
    const last = messages.at(-1) as AssistantMessage
    return { messages: [...messages.slice(0, -1), { ...last, content: last.content.flatMap(edit) }] }
  },
})

const TWICE = 'two calls have the id c1'

test.each(EFFECTS)(
  'an afterModel that leaves one call id twice is a MiddlewareError, and no call is made, early as waiting: %s (P6, C9)',
  async (effect) => {
    const same = editing((part) => [part, part])
    const other = editing((part) => [part, part.type === 'tool-call' ? { ...part, input: { n: 2 } } : part])
    for (const hook of [same, other]) {
      const error = {
        name: 'MiddlewareError',
        middleware: 'editing',
        hook: 'afterModel',
        message: expect.stringContaining(TWICE),
      }
      const waiting = await ran(effect, [hook])
      expect(waiting.error).toMatchObject(error)
      expect(executed.splice(0)).toEqual([])
      expect(waiting.told).toEqual([['tool-end', 'c1']])
      const eager = await ran(effect, [hook, early])
      expect(eager.error).toMatchObject(error)
      // What had begun by then is discarded and undone.
      const begun = effect === 'external' ? [] : [`${effect} 1`]
      expect(executed.splice(0)).toEqual(begun)
      expect(undone.splice(0)).toEqual(effect === 'reversible' ? [1] : [])
      expect(eager.told).toEqual([...begun.flatMap(() => ENDED_EARLY), ['tool-end', 'c1']])
    }
  },
)

const ENDED_EARLY = ['tool-entered', 'tool-settled', 'tool-discarded'].map((type) => [type, 'c1'])

test('the same holds for one that gives a call the id of an earlier one, or none; the hook after it does not run (P6)', async () => {
  const seen: string[] = []
  const next: Middleware = { name: 'next', afterModel: () => void seen.push('next') }
  const history: Message[] = []
  const earlier: Middleware = {
    name: 'editing',
    afterModel({ messages }, { step }) {
      history.splice(0, history.length, ...messages)
      return step === 1 ? undefined : { messages: [...messages.slice(0, -1), answer(toolCall('c1', 'external', 2))] }
    },
  }
  const twice = await ran('external', [next, earlier])
  expect(twice.error).toMatchObject({
    name: 'MiddlewareError',
    middleware: 'editing',
    message: expect.stringMatching(/: call id c1 was used by an earlier step$/),
  })
  expect(executed.splice(0)).toEqual(['external 1'])
  expect(seen.splice(0)).toEqual(['next'])
  const nameless = await ran('external', [next, editing(() => [toolCall('', 'external')])])
  expect(nameless.error).toMatchObject({ name: 'MiddlewareError', message: expect.stringContaining('an empty id') })
  expect([executed, seen]).toEqual([[], []])
})

test('an afterModel may repeat a call with another id, early as waiting (P6, C9, H11)', async () => {
  for (const effect of EFFECTS) {
    const hook = editing((part) => [part, part.type === 'tool-call' ? { ...part, id: 'c2' } : part])
    const results = []
    for (const middleware of [[hook], [hook, early]]) results.push((await ran(effect, middleware)).result?.messages)
    expect(results[1]).toEqual(results[0])
    expect(executed.splice(0)).toEqual(Array.from({ length: 4 }, () => `${effect} 1`))
  }
})

test.each(EFFECTS)(
  'a wrapModel that returns one call id twice is a MiddlewareError, whether it calls the model or answers itself: %s (P6, C12)',
  async (effect) => {
    const doubling: Middleware = {
      name: 'doubling',
      async *wrapModel(request, next) {
        const message = yield* next(request)
        return { ...message, content: message.content.flatMap((part) => [part, part]) }
      },
    }
    const itself: Middleware = {
      name: 'itself',
      async *wrapModel() {
        const [one, other] = [toolCall('c1', effect, 1), toolCall('c1', effect, 2)]
        yield { type: 'tool-call', call: one }
        return answer(one, other)
      },
    }
    const passing: Middleware = { name: 'passing', wrapModel: (request, next) => next(request) }
    for (const middleware of [doubling, itself]) {
      for (const list of [[middleware], [passing, middleware], [early, middleware], [middleware, early]]) {
        const { error } = await ran(effect, list)
        const { name } = middleware
        const message = expect.stringContaining(TWICE)
        expect(error).toMatchObject({ name: 'MiddlewareError', middleware: name, hook: 'wrapModel', message })
        expect(executed.splice(0).length).toBeLessThanOrEqual(list.includes(early) && effect !== 'external' ? 1 : 0)
      }
    }
  },
)

test('a model that returns one call id twice, or none, has failed, and none of its calls is made (P6, G10)', async () => {
  for (const [ids, problem] of [
    [['c1', 'c1'], TWICE],
    [[''], 'a call has an empty id'],
  ] as const) {
    for (const effect of EFFECTS) {
      const model: Model = {
        provider: 'p',
        id: 'm',
        async *stream() {
          const calls = ids.map((id, n) => toolCall(id, effect, n))
          for (const call of calls) yield { type: 'tool-call', call }
          return answer(...calls)
        },
      }
      const { error } = await ran(effect, [], model)
      expect(error).toMatchObject({ name: 'ModelError', code: 'invalid_call_id', retryable: false, message: problem })
      expect(executed.splice(0)).toEqual([])
    }
  }
})

test('a beforeModel that leaves one call id twice in a message causes a history error, unless a hook after it repairs the history (P6, A15)', async () => {
  const history: readonly Message[] = [
    answer(toolCall('c0', 'external'), toolCall('c0', 'external')),
    { role: 'tool', callId: 'c0', name: 'external', content: [] },
  ]
  const doubling: Middleware = {
    name: 'doubling',
    beforeModel: ({ messages }) => ({ messages: [...messages, ...history] }),
  }
  const mending: Middleware = {
    name: 'mending',
    beforeModel: ({ messages }) => ({ messages: messages.slice(0, 1) }),
  }
  const model = () => scriptedModel([respond(say('Done.'))])
  const { error } = await ran('external', [doubling], model())
  expect(error).toMatchObject({ name: 'HistoryError', callIds: ['c0'] })
  expect((await ran('external', [doubling, mending], model())).result?.text).toBe('Done.')
  expect(executed).toEqual([])
})

test('a history whose ids repeat in every turn is accepted, and no new call gets one of its ids (W14, G10)', async () => {
  const turn = (text: string): readonly Message[] => [
    { role: 'user', content: text },
    answer(toolCall('functions.read:0', 'read')),
    { role: 'tool', callId: 'functions.read:0', name: 'read', content: [] },
  ]
  const asking = scriptedModel([
    respond(call('read', { n: 1 }, { id: 'functions.read:0' }), call('read', { n: 2 })),
    respond(say('Done.')),
  ])
  const reading = createAgent({ model: asking, tools }).run([
    ...turn('Go'),
    ...turn('On'),
    { role: 'user', content: 'Now' },
  ])
  await vi.runAllTimersAsync()
  const { messages } = await reading
  const made = messages.slice(7).flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
  expect(new Set([...made, 'functions.read:0']).size).toBe(3)
  expect(executed).toEqual(['read 1', 'read 2'])
})
