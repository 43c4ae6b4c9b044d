import { call, collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { pause, ran, talking } from '../../test/left-flows.ts'
import { type Agent, createAgent, type Middleware, settle, textOf, tool } from '../index.ts'

beforeEach(() => void vi.useFakeTimers())

afterEach(() => void vi.useRealTimers())

const leave = (ms: number): Middleware => ({
  name: 'impatient',
  async *wrapAgent(setup, next) {
    const flow = next(setup)
    const late = pause(ms).then(() => ({ done: true, value: undefined }) as const)
    for (;;) {
      const step = await Promise.race([flow.next(), late])
      if (!step.done) yield step.value
      else if (step.value) return step.value
      else throw new Error('too late')
    }
  },
})

test('a wrapAgent that leaves cancels the model request and the running tools (C15)', async () => {
  const seen: string[] = []
  const heeds = tool({
    name: 'heeds',
    description: 'Waits for its signal.',
    input: z.object({}),
    execute: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          seen.push('tool aborted')
          reject(signal.reason)
        })
      }),
  })
  /** Collects the events, and returns the time as well. */
  const timed = async (agent: Agent) => {
    const start = performance.now()
    const collecting = collect(agent.stream('Go')).then(({ error }) => ({ error, ms: performance.now() - start }))
    return ran(collecting)
  }
  const error = { name: 'MiddlewareError', cause: new Error('too late') }
  const asking = createAgent({ model: talking(seen), middleware: [leave(150)] })
  expect(await timed(asking)).toMatchObject({ error, ms: 150 })
  expect(seen).toEqual(['model aborted', 'model finally'])

  const model = scriptedModel([respond(call('heeds'))])
  const calling = createAgent({ model, tools: [heeds], middleware: [leave(150)] })
  const messages = [{ role: 'user' }, { role: 'assistant' }, { role: 'tool', isError: true }]
  expect(await timed(calling)).toMatchObject({ error: { ...error, messages }, ms: 150 })
  expect(seen.slice(2)).toEqual(['tool aborted'])
})

test.for(['beforeModel', 'afterModel'] as const)(
  'steps that a wrapAgent leaves in %s make no model call and no tool call after it (C15)',
  async (hook) => {
    const executed: string[] = []
    const look = tool({
      name: 'look',
      description: 'Looks.',
      input: z.object({}),
      execute: () => void executed.push('look'),
    })
    const slow: Middleware = { name: 'slow', [hook]: () => pause(200).then(() => undefined) }
    const model = scriptedModel([respond(call('look'))])
    const agent = createAgent({ model, tools: [look], middleware: [leave(150), slow] })
    const { error } = await ran(collect(agent.stream('Go')))
    expect(error).toMatchObject({ name: 'MiddlewareError', cause: new Error('too late') })
    expect(model.requests).toHaveLength(hook === 'beforeModel' ? 0 : 1)
    expect(executed).toEqual([])
  },
)

test('code that ignores its closing delays the run no longer than the grace time (C15)', async () => {
  const stubborn = tool({
    name: 'stubborn',
    description: 'Does not listen.',
    input: z.object({}),
    execute: () => pause(10_000),
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('stubborn')), respond(say('done'))]),
    tools: [stubborn],
    grace: 300,
    middleware: [
      {
        name: 'impatient',
        async *wrapToolCall(call, next) {
          await Promise.race([settle(next(call)), pause(50)])
          return { role: 'tool', callId: call.id, name: call.name, content: [{ type: 'text', text: 'too slow' }] }
        },
      },
    ],
  })
  const start = performance.now()
  const run = agent.stream('Go')
  let ended = 0
  void run.result.then(() => {
    ended = performance.now() - start
  })
  const { result } = await ran(collect(run))
  expect(result?.messages.map(textOf)).toEqual(['Go', '', 'too slow', 'done'])
  expect(ended).toBe(350)
})
