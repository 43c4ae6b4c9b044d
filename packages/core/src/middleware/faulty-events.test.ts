import { collect } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { between, endOf, failureOf, good, twoSteps, wrapHooks } from '../../test/faulty-middleware.ts'
import { answer } from '../../test/messages.ts'
import { echo, toolOf } from '../../test/tools.ts'
import { createAgent, type Flow, type Middleware, type Model } from '../index.ts'

test.for(wrapHooks.flatMap((hook) => [null, undefined, 5, 'text'].map((junk) => [hook, junk] as const)))(
  'a %s that yields %j is a MiddlewareError (P16)',
  async ([hook, junk]) => {
    const faulty = {
      async *[hook](given: never, next: (given: never) => Flow<unknown, unknown>): Flow<unknown, unknown> {
        yield junk
        return yield* next(given)
      },
    }
    const { error } = await endOf(between(faulty))
    expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'faulty', hook })
  },
)

const junkEvents = [
  {},
  { type: 'nonsense' },
  { type: '__proto__' },
  { type: 'text-delta' },
  { type: 'text-delta', delta: 5 },
  { type: 'tool-call', call: 5 },
  { type: 'attempt-failed' },
  { type: 'run-end' },
  { type: 'step-end' },
  { type: 'custom' },
  { messages: 5 },
]

/** Empty progress is also progress. */
const isProgress = (event: object) => !('type' in event)

test.for(
  wrapHooks.flatMap((hook) =>
    junkEvents.flatMap((event) => (hook === 'wrapToolCall' && isProgress(event) ? [] : [[hook, event] as const])),
  ),
)('a %s that yields %j ends the run, and the reader does not receive it (P16)', async ([hook, event]) => {
  const faulty: Middleware = {
    name: 'faulty',
    async *[hook](given: never, next: (given: never) => Flow<unknown, unknown>): Flow<unknown, unknown> {
      yield { ...event, junk: true }
      return yield* next(given)
    },
  }
  const agent = createAgent({
    model: twoSteps(),
    tools: [echo],
    middleware: [good, faulty, { ...good, name: 'inside' }],
  })
  const { error, events } = await collect(agent.stream('Go'))
  expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'faulty', hook })
  expect(events).not.toContainEqual(expect.objectContaining({ junk: true }))
})

test('the error describes what is wrong with an event (P16)', async () => {
  const said = async (event: object) => {
    const error = await failureOf({
      async *wrapModel(request, next) {
        yield event as never
        return yield* next(request)
      },
    })
    return error instanceof Error && error.message
  }
  const begin = 'middleware faulty, wrapModel: the wrap yielded an event'
  expect(await said({ type: 'text-delta', delta: 5 })).toBe(
    `${begin} of type text-delta whose delta is missing or wrong`,
  )
  expect(await said({ type: 'run-end' })).toBe(`${begin} of type run-end, which it may not yield`)
  expect(await said({ delta: 'a' })).toBe(`${begin} without a type`)
})

test('an event whose delta throws when it is read is the fault of the wrap that yields it (P16)', async () => {
  const hostile = {
    type: 'text-delta',
    get delta() {
      throw new Error('hostile')
    },
  }
  const faulty: Middleware = {
    name: 'faulty',
    async *wrapModel(request, next) {
      yield hostile as never
      return yield* next(request)
    },
  }
  const { error } = await endOf([{ ...good, name: 'outside' }, faulty, good])
  expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'faulty', hook: 'wrapModel' })
})

test('an invalid event from inside is not the fault of the wrap that passes it on (P16)', async () => {
  const model: Model = {
    provider: 'p',
    id: 'i',
    async *stream() {
      yield { type: 'text-delta' } as never
      return answer('Hi.')
    },
  }
  expect((await collect(createAgent({ model, middleware: [good] }).stream('Go'))).error).toMatchObject({
    name: 'ModelError',
    code: 'invalid_chunk',
    message: 'the model yielded an event of type text-delta whose delta is missing or wrong',
  })
  const typed = toolOf('echo', async function* () {
    yield { type: 'status', message: 'half' }
    return 'done'
  })
  const unnamed: Middleware = { name: 'unnamed', beforeModel: (_, run) => run.emit({ data: 1 } as never) }
  const agent = createAgent({ model: twoSteps(), tools: [typed], middleware: [good, unnamed] })
  expect((await agent.run('Go')).text).toBe('done')
})

test('an invalid call that a wrapModel yields is its fault (P16)', async () => {
  for (const type of ['tool-call', 'tool-input-closed'])
    for (const event of [{ type }, { type, call: null }]) {
      const faulty: Omit<Middleware, 'name'> = {
        async *wrapModel(request, next) {
          yield event as never
          return yield* next(request)
        },
      }
      const { error } = await endOf(between(faulty))
      expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'faulty', hook: 'wrapModel' })
    }
})
