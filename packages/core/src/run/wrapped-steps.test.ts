import { call, collect, respond, type ScriptedResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { type AgentEvent, type CompletedResult, createAgent, type Middleware, tool } from '../index.ts'

// What a wrapAgent does with the steps inside it.

let did: string[] = []

beforeEach(() => {
  did = []
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const look = tool({
  name: 'look',
  description: 'Looks.',
  input: z.object({}),
  execute: () => void did.push('tool'),
})

function start(responses: readonly ScriptedResponse[], ...middleware: readonly Middleware[]) {
  const model = scriptedModel(responses, { pace: { firstToken: 10, betweenTokens: 10 } })
  const run = createAgent({ model, tools: [look], middleware }).stream('Go')
  return { run, model, reading: collect(run) }
}

async function ended<Read>(reading: Promise<Read>): Promise<Read> {
  await vi.runAllTimersAsync()
  expect(vi.getTimerCount()).toBe(0)
  return reading
}

/** A result that a wrap makes itself. */
const OWN: CompletedResult = {
  status: 'completed',
  stopReason: 'answer',
  message: { role: 'assistant', content: [{ type: 'text', text: 'Mine.' }], finishReason: 'stop' },
  text: 'Mine.',
  finishReason: 'stop',
  messages: [],
  steps: 0,
  usage: {},
  warnings: [],
}

const stepsIn = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'step-start' ? [event.step] : []))

test('next called again opens the inbox once more, and the steps count on; before that no message is accepted (MA6, K18)', async () => {
  const taken: boolean[] = []
  const twice: Middleware = {
    name: 'twice',
    async *wrapAgent(setup, next) {
      yield* next(setup)
      taken.push(run.send('Between'))
      const again = next(setup)
      const first = await again.next()
      taken.push(run.send('Again'))
      if (!first.done) yield first.value
      const result = yield* again
      taken.push(run.send('After'))
      return result
    },
  }
  const { run, reading } = start([respond(say('One.')), respond(say('Two.')), respond(say('Three.'))], twice)
  const { result, events } = await ended(reading)
  expect(taken).toEqual([false, true, false])
  expect(result).toMatchObject({ status: 'completed', steps: 2, text: 'Two.' })
  expect(stepsIn(events)).toEqual([1, 2])
  expect(result?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
})

test('next called while its steps are running is refused, naming the wrap that called it, and those steps go on (MA6)', async () => {
  const refused: unknown[] = []
  const hasty: Middleware = {
    name: 'hasty',
    async *wrapAgent(setup, next) {
      const steps = next(setup)
      const first = await steps.next()
      const refusal = next(setup).next()
      await refusal.catch((error: unknown) => refused.push(error))
      if (!first.done) yield first.value
      return yield* steps
    },
  }
  const inner: Middleware = { name: 'inner', wrapAgent: (setup, next) => next(setup) }
  const { model, reading } = start([respond(say('One.'))], hasty, inner)
  const { result } = await ended(reading)
  expect(refused).toMatchObject([{ name: 'MiddlewareError', middleware: 'hasty', hook: 'wrapAgent' }])
  expect(model.requests).toHaveLength(1)
  expect(result).toMatchObject({ status: 'completed', steps: 1, text: 'One.' })
})

test.for([
  { at: 'step-start', done: [] },
  { at: 'tool-call', done: ['model'] },
  { at: 'tool-end', done: ['model', 'tool'] },
  { at: 'step-end', done: ['model', 'tool'] },
] as const)(
  'while a wrapAgent holds a $at nothing after it is done, nor when the wrap then leaves the steps: the run ends with what the wrap returns (MA6, MA7)',
  async ({ at, done }) => {
    const watcher: Middleware = {
      name: 'watcher',
      wrapModel: (request, next) => {
        did.push('model')
        return next(request)
      },
    }
    const held: string[][] = []
    const holder: Middleware = {
      name: 'holder',
      async *wrapAgent(setup, next) {
        for await (const event of next(setup)) {
          if (event.type === at) {
            await sleep(1_000)
            held.push([...did])
            return OWN
          }
          yield event
        }
        return OWN
      },
    }
    const { reading } = start([respond(call('look')), respond(say('Seen.'))], holder, watcher)
    const { result, error } = await ended(reading)
    expect(error).toBeUndefined()
    expect(result).toMatchObject({ status: 'completed', text: 'Mine.' })
    expect(held).toEqual([done])
    expect(did).toEqual(done)
  },
)

test.for([
  ['the first result', 1, []],
  ['the last result', 2, []],
  ['the end of the step', 3, ['a', 'b']],
] as const)(
  'while a wrapAgent holds %s the history has all results of the step, in call order, or none (MA7)',
  async ([, n, results]) => {
    let told = 0
    const holder: Middleware = {
      name: 'holder',
      async *wrapAgent(setup, next) {
        const steps = next(setup)
        for (;;) {
          const { done, value } = await steps.next()
          if (done) return value
          if ((value.type === 'tool-end' || value.type === 'step-end') && ++told === n) await sleep(1_000)
          yield value
        }
      },
    }
    const calls = respond(call('look', {}, { id: 'a' }), call('look', {}, { id: 'b' }))
    const { run, reading } = start([calls, respond(say('Seen.'))], holder)
    await vi.advanceTimersByTimeAsync(500)
    void run.cancel()
    const { result } = await ended(reading)
    const { messages = [] } = result?.status === 'cancelled' ? result.checkpoint : {}
    expect(messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))).toEqual(results)
  },
)
