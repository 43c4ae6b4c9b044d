import { collect, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { twoSteps } from '../../test/faulty-middleware.ts'
import { answer } from '../../test/messages.ts'
import { echo } from '../../test/tools.ts'
import { createAgent, MiddlewareError, type ModelFlow, type ModelRequest, tool } from '../index.ts'

test('a next called after its wrap has ended is a MiddlewareError, and requests nothing (C16)', async () => {
  const model = twoSteps()
  const executed: unknown[] = []
  const errors: unknown[] = []
  const leaked: (() => unknown)[] = []
  const agent = createAgent({
    model,
    tools: [tool({ ...echo, execute: ({ text }) => `execution ${executed.push(text)}` })],
    middleware: [
      {
        name: 'leaky',
        async *wrapAgent(setup, next) {
          leaked.push(() => next(setup))
          return yield* next(setup)
        },
        async *wrapModel(request, next) {
          leaked.push(() => next(request))
          return yield* next(request)
        },
        async *wrapToolCall(call, next) {
          leaked.push(() => next(call))
          return yield* next(call)
        },
      },
    ],
  })
  await agent.run('Go')
  for (const next of leaked) {
    try {
      next()
    } catch (error) {
      errors.push(error)
    }
  }
  expect(errors).toMatchObject(
    ['wrapAgent', 'wrapModel', 'wrapToolCall', 'wrapModel'].map((hook) => ({ middleware: 'leaky', hook })),
  )
  expect(errors.every((error) => error instanceof MiddlewareError)).toBe(true)
  expect(model.requests).toHaveLength(2)
  expect(executed).toHaveLength(1)
})

test('a leaked next that is called in a later step ends the run (C16)', async () => {
  let leaked: ((request: ModelRequest) => ModelFlow) | undefined
  const model = twoSteps()
  const agent = createAgent({
    model,
    tools: [echo],
    middleware: [
      {
        name: 'leaky',
        async *wrapModel(request, next) {
          leaked ??= next
          return yield* leaked(request)
        },
      },
    ],
  })
  const { error } = await collect(agent.stream('Go'))
  expect(error).toBeInstanceOf(MiddlewareError)
  expect(error).toMatchObject({ middleware: 'leaky', hook: 'wrapModel' })
  expect(model.requests).toHaveLength(1)
})

test('a flow of next that is first pulled after its wrap has ended requests nothing (C15, C16)', async () => {
  const model = scriptedModel([])
  let kept: ModelFlow | undefined
  const agent = createAgent({
    model,
    middleware: [
      {
        name: 'keeps',
        async *wrapModel(request, next) {
          kept = next(request)
          return answer('without you')
        },
      },
    ],
  })
  const { events } = await collect(agent.stream('Go'))
  expect(await kept?.next()).toEqual({ done: true, value: undefined })
  expect(model.requests).toHaveLength(0)
  expect(events.map(({ type }) => type)).not.toContain('attempt-start')
})
