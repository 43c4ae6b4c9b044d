import { call, collect, fail, respond, type ScriptResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  type AgentEvent,
  type AssistantMessage,
  createAgent,
  type Middleware,
  ModelError,
  type ModelEvent,
  settle,
  textOf,
  tool,
} from '../index.ts'

const answer = (text: string): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  finishReason: 'stop',
})

const delta = (text: string): ModelEvent => ({ type: 'text-delta', delta: text })

async function ran(responses: readonly ScriptResponse[], wrapModel: NonNullable<Middleware['wrapModel']>) {
  const agent = createAgent({ model: scriptedModel(responses), middleware: [{ name: 'own', wrapModel }] })
  const { events, result } = await collect(agent.stream('Go'))
  return { deltas: deltasOf(events), stood: stoodOf(events), text: result?.text }
}

const deltasOf = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'text-delta' ? [[event.attempt, event.delta]] : []))

const stoodOf = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'step-end' ? [event.attempt] : []))

test('an answer of a wrap in place of a failed attempt belongs to no attempt, in events and step-end alike (B4, B9)', async () => {
  const seen = await ran([respond(say('half of'), fail())], async function* (request, next) {
    try {
      return yield* next(request)
    } catch {
      yield delta('canned')
      return answer('canned')
    }
  })
  expect(seen).toEqual({
    deltas: [
      [1, 'half'],
      [1, ' of'],
      [0, 'canned'],
    ],
    stood: [undefined],
    text: 'canned',
  })
})

test('an answer of a wrap after it has left an attempt belongs to none (B4, B9)', async () => {
  const seen = await ran([respond(say('half of'))], async function* (request, next) {
    for await (const event of next(request)) {
      yield event
      break
    }
    yield delta('canned')
    return answer('canned')
  })
  expect(seen).toEqual({
    deltas: [
      [1, 'half'],
      [0, 'canned'],
    ],
    stood: [undefined],
    text: 'canned',
  })
})

test('an answer of a wrap after it has reported a failed attempt belongs to none (B4, B9)', async () => {
  const seen = await ran([respond(say('short'))], async function* (request, next) {
    yield* next(request)
    yield { type: 'attempt-failed', error: new RangeError('too short'), next: 'none' }
    yield delta('canned')
    return answer('canned')
  })
  expect(seen).toEqual({
    deltas: [
      [1, 'short'],
      [0, 'canned'],
    ],
    stood: [undefined],
    text: 'canned',
  })
})

test('what a wrap adds to a response belongs to its attempt, although a later attempt failed (B4, B9)', async () => {
  const seen = await ran([respond(say('whole')), respond(say('half'), fail())], async function* (request, next) {
    const message = yield* next(request)
    await settle(next(request)).catch(() => undefined)
    yield delta('.')
    return answer(`${textOf(message)}.`)
  })
  expect(seen).toEqual({
    deltas: [
      [1, 'whole'],
      [1, '.'],
    ],
    stood: [1],
    text: 'whole.',
  })
})

test('events that a wrap makes from those of an attempt fail with it (B4, B9)', async () => {
  const seen = await ran([respond(say('half'), fail()), respond(say('whole'))], async function* (request, next) {
    for (;;) {
      const flow = next(request)
      try {
        for (;;) {
          const step = await flow.next()
          if (step.done) return answer(textOf(step.value).toUpperCase())
          if (step.value.type === 'text-delta') yield delta(step.value.delta.toUpperCase())
        }
      } catch (error) {
        if (!(error instanceof ModelError)) throw error
      }
    }
  })
  expect(seen).toEqual({
    deltas: [
      [1, 'HALF'],
      [2, 'WHOLE'],
    ],
    stood: [2],
    text: 'WHOLE',
  })
})

test('a call that a wrap makes up while an attempt is running is discarded if that fails (G11, B9)', async () => {
  const made: number[] = []
  const count = tool({
    name: 'count',
    description: 'Counts.',
    input: z.object({ n: z.number() }),
    execute: ({ n }) => made.push(n),
  })
  const rejected: unknown[] = []
  const madeUp = { type: 'tool-call', id: 'own', name: 'count', input: { n: 1 } } as const
  const middleware: Middleware = {
    name: 'own',
    async *wrapModel(request, next, run) {
      if (run.step > 1) return yield* next(request)
      const flow = next(request)
      await flow.next()
      yield { type: 'tool-call', call: madeUp }
      await flow.next().catch(() => undefined)
      await run.callTool(madeUp).catch((error: unknown) => rejected.push(error))
      return yield* next(request)
    },
  }
  const model = scriptedModel([respond(say('half'), fail()), respond(call('count', { n: 2 })), respond(say('Done.'))])
  const { events, result } = await collect(
    createAgent({ model, tools: [count], middleware: [middleware] }).stream('Go'),
  )
  expect(events.find((event) => event.type === 'tool-call')).toMatchObject({ attempt: 1, call: { id: 'own' } })
  expect(rejected).toMatchObject([{ name: 'ToolDiscardedError' }])
  expect(made).toEqual([2])
  expect(result?.text).toBe('Done.')
})
