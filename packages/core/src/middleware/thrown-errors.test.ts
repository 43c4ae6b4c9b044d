import { collect, fail, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { failureOf, oops, twoSteps, watching } from '../../test/faulty-middleware.ts'
import { echo } from '../../test/tools.ts'
import {
  AgentError,
  createAgent,
  type Middleware,
  MiddlewareError,
  ModelError,
  map,
  RunAbortedError,
  tool,
} from '../index.ts'

const throws = () => {
  throw oops
}

const hooks = ['beforeAgent', 'beforeModel', 'afterModel', 'beforeFinalAnswer'] as const

test.for(hooks)('a throw in %s ends the run as MiddlewareError (C17, E5)', async (hook) => {
  for (const faulty of [throws, async () => throws()]) {
    const error = await failureOf({ [hook]: faulty })
    expect(error).toBeInstanceOf(MiddlewareError)
    expect(error).toMatchObject({ middleware: 'faulty', hook, message: `middleware faulty, ${hook}: threw oops` })
    expect(error).toHaveProperty('cause', oops)
  }
})

test('what is thrown need not be an Error (C17)', async () => {
  const error = await failureOf({
    beforeModel() {
      throw 'a text'
    },
  })
  expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'faulty', hook: 'beforeModel', cause: 'a text' })
})

const faultyWraps: readonly (readonly [string, Omit<Middleware, 'name'>])[] = [
  ['when it is called', { wrapModel: throws }],
  [
    'before next',
    {
      async *wrapModel() {
        throw oops
      },
    },
  ],
  ['at an event', { wrapModel: (request, next) => map(next(request), throws) }],
  [
    'after next',
    {
      async *wrapModel(request, next) {
        yield* next(request)
        throw oops
      },
    },
  ],
  ['when it is called', { wrapAgent: throws }],
  ['at an event', { wrapAgent: (setup, next) => map(next(setup), throws) }],
  [
    'after next',
    {
      async *wrapAgent(setup, next) {
        yield* next(setup)
        throw oops
      },
    },
  ],
]

test.for(faultyWraps.map(([when, wraps]) => [Object.keys(wraps)[0] ?? '', when, wraps] as const))(
  'an error that %s throws itself %s ends the run as MiddlewareError (C17)',
  async ([hook, , wraps]) => {
    const error = await failureOf(wraps)
    expect(error).toBeInstanceOf(MiddlewareError)
    expect(error).toMatchObject({ middleware: 'faulty', hook })
    expect(error).toHaveProperty('cause', oops)
  },
)

test('the error of a model passes all wraps as the same object (C17)', async () => {
  const seen: unknown[] = []
  const agent = createAgent({
    model: scriptedModel([respond(fail({ status: 401, code: 'unauthorized' }))]),
    middleware: [watching('A', seen), watching('B', seen)],
  })
  const { error } = await collect(agent.stream('Go'))
  expect(error).toBeInstanceOf(ModelError)
  expect(error).toMatchObject({ code: 'unauthorized' })
  expect(seen).toHaveLength(4)
  expect(seen.every((one) => one === error)).toBe(true)
})

class QuotaError extends AgentError {
  override readonly name = 'QuotaError'
}

const quota = new QuotaError('used up')

const quotaThrowers: Readonly<Record<string, Omit<Middleware, 'name'>>> = Object.fromEntries(
  [...hooks, 'wrapModel', 'wrapAgent', 'wrapToolCall'].map((hook) => [
    hook,
    {
      [hook]: () => {
        throw quota
      },
    },
  ]),
)

test.for(Object.entries(quotaThrowers))(
  'a subclass of AgentError thrown in %s ends the run as the same object (C17, C18)',
  async ([, thrower]) => {
    const seen: unknown[] = []
    const agent = createAgent({
      model: twoSteps(),
      tools: [echo],
      middleware: [watching('A', seen), { name: 'quota', ...thrower }],
    })
    expect((await collect(agent.stream('Go'))).error).toBe(quota)
    expect(seen.every((one) => one === quota)).toBe(true)
  },
)

test('an AgentError of a tool passes the wraps of call and run as the same object (C17, C18, A12)', async () => {
  const seen: unknown[] = []
  const agent = createAgent({
    model: twoSteps(),
    tools: [
      tool({
        ...echo,
        execute: (): string => {
          throw quota
        },
      }),
    ],
    middleware: [watching('A', seen), watching('B', seen)],
  })
  expect((await collect(agent.stream('Go'))).error).toBe(quota)
  expect(seen).toEqual([quota, quota, quota, quota])
})

test('an abort passes all wraps as the same object (C17)', async () => {
  const seen: unknown[] = []
  const agent = createAgent({
    model: scriptedModel([respond(wait(1), say('late'))]),
    middleware: [watching('A', seen), watching('B', seen)],
  })
  const reason = new Error('enough')
  const controller = new AbortController()
  const run = agent.stream('Go', { signal: controller.signal })
  controller.abort(reason)
  const { error } = await collect(run)
  expect(error).toBeInstanceOf(RunAbortedError)
  expect(error).toHaveProperty('cause', reason)
  expect(seen).toHaveLength(4)
  expect(seen.every((one) => one === error)).toBe(true)
})

test.for(hooks)(
  'a throw of %s that results from an abort is the abort, and blames no middleware (C17)',
  async (hook) => {
    const seen: unknown[] = []
    const controller = new AbortController()
    const agent = createAgent({
      model: twoSteps(),
      tools: [echo],
      middleware: [
        watching('A', seen),
        {
          name: 'heeds',
          [hook]: () => {
            controller.abort()
            throw oops
          },
        },
      ],
    })
    const { error } = await collect(agent.stream('Go', { signal: controller.signal }))
    expect(error).toBeInstanceOf(RunAbortedError)
    expect(seen).toEqual(hook === 'beforeAgent' ? [] : [error])
  },
)
