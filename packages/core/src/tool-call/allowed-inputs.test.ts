import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { callOf, callsEffect, played } from '../../test/calls-effect.ts'
import { startingEarly, withdrawing } from '../../test/early-calls.ts'
import {
  type AgentOptions,
  type CallOptions,
  createAgent,
  type Middleware,
  type Tool,
  type ToolContext,
} from '../index.ts'

const { log, restart, worker } = callsEffect()

/** A call that arrives at once, in a response that ends after 100 ms. */
const model = () =>
  scriptedModel([respond(call('book', { n: 1 }, { id: 'c1' }), wait(100), say('So.')), respond(say('Done.'))])

const asWritten: NonNullable<CallOptions['allow']> = (input, written) =>
  JSON.stringify(input) === JSON.stringify(written)

const increasing: Middleware = {
  name: 'increasing',
  wrapToolCall: (call, next) => next({ ...call, input: { n: 2 } }),
}

test('an early call whose input is not allowed waits for its commit: a schema, prepareInput or a wrap has changed it (W4)', async () => {
  const filling = z.object({ n: z.number(), at: z.string().default('now') })
  const cases: readonly (readonly [Partial<Tool<{ n: number }>>, Partial<AgentOptions>, string])[] = [
    [{}, {}, '0 book 1'],
    [{ input: filling }, {}, '100 book 1'],
    [{}, { prepareInput: () => ({ n: 2 }) }, '100 book 2'],
    [{}, { middleware: [increasing] }, '100 book 2'],
  ]
  for (const [tool, { middleware = [], ...options }, made] of cases) {
    restart()
    const agent = createAgent({
      model: model(),
      tools: [worker('book', 'idempotent', tool)],
      ...options,
      middleware: [...middleware, startingEarly({ allow: asWritten })],
    })
    await played(agent)
    expect(log).toEqual([made])
  }
})

test('an early call whose input is not allowed is not executed if it is withdrawn (W4)', async () => {
  const early = startingEarly({ allow: () => false })
  await played(
    createAgent({ model: model(), tools: [worker('book', 'idempotent')], middleware: [early, withdrawing()] }),
  )
  expect(log).toEqual([])
})

test('the input that is judged is the one that the tool gets: the schema checks it once (W4)', async () => {
  const judged: unknown[] = []
  let count = 0
  const counting = z.object({ n: z.number().transform((n) => n + ++count) })
  const book = worker('book', 'idempotent', { input: counting })
  const early = startingEarly({ allow: (...inputs) => judged.push(inputs) > 0 })
  await played(createAgent({ model: model(), tools: [book], middleware: [early] }))
  expect(judged).toEqual([[{ n: 2 }, { n: 1 }]])
  expect(log).toEqual(['0 book 2'])
})

test('what a call allows does not apply to the calls that it makes (W4)', async () => {
  const book = worker('book', 'read', { execute: (_, { run }) => callOf(run, 'put', 2) })
  const early = startingEarly({ allow: asWritten })
  await played(createAgent({ model: model(), tools: [book, worker('put', 'idempotent')], middleware: [early] }))
  expect(log).toEqual(['0 put 2'])
})

test('an early call that a cancel kept from starting is limited by the options of the start after the resume (W4, L20)', async () => {
  const filling = z.object({ n: z.number(), at: z.string().default('now') })
  const agent = createAgent({
    model: { provider: 'p', id: 'm', stream: (request) => model().stream(request) },
    tools: [worker('book', 'idempotent', { input: filling })],
    middleware: [startingEarly({ allow: asWritten }), withdrawing()],
  })
  const run = agent.stream('Go')
  await vi.advanceTimersByTimeAsync(50)
  void run.cancel()
  await vi.runAllTimersAsync()
  const { checkpoint } = await run.result
  const again = agent.resume(checkpoint ?? '')
  await vi.runAllTimersAsync()
  expect((await again.result).status).toBe('completed')
  expect(log).toEqual([])
})

test.each([
  ['that it waits for', ({ run }) => callOf(run, 'put')],
  ['that it does not wait for', ({ run }) => void callOf(run, 'put').catch(() => undefined)],
] satisfies [string, (context: ToolContext) => unknown][])(
  'a call %s is limited by the ceiling of the early start after the resume (W4, L20)',
  async (_, make) => {
    const plan = worker('book', 'calls', { execute: async (_, context) => (await make(context)) ?? 'ok' })
    const agent = createAgent({
      model: { provider: 'p', id: 'm', stream: (request) => model().stream(request) },
      tools: [plan, worker('put', 'idempotent')],
      middleware: [startingEarly({ ceiling: 'read' }), withdrawing()],
    })
    const run = agent.stream('Go')
    await vi.advanceTimersByTimeAsync(50)
    void run.cancel()
    await vi.runAllTimersAsync()
    const { checkpoint } = await run.result
    const again = agent.resume(checkpoint ?? '')
    await vi.runAllTimersAsync()
    expect((await again.result).status).toBe('completed')
    expect(log).toEqual([])
  },
)
