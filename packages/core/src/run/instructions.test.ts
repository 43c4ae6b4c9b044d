import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { contextOf, createAgent, interrupt, type Middleware, type Run, type Tool, tool } from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

async function settled<Result>(work: Promise<Result>): Promise<Result> {
  work.catch(() => undefined)
  await vi.runAllTimersAsync()
  return await work
}

const failureOf = (work: Promise<unknown>) =>
  settled(
    work.then(
      () => undefined,
      (error: unknown) => error,
    ),
  )
const tenant = contextOf(z.object({ tenant: z.string() }))
const ask = tool({
  name: 'ask',
  description: 'a',
  input: z.object({}),
  execute: (_, { answers: [answer] }) => {
    if (answer === undefined) throw interrupt('Sure?')
    return answer
  },
}) as Tool

const twice = () => scriptedModel([respond(call('ask')), respond(call('ask')), respond(say('Done.'))])

test.each([
  ['at once', (run: Run) => `You work for ${tenant(run).tenant}.`],
  [
    'with a promise',
    async (run: Run) =>
      await new Promise<string>((resolve) => setTimeout(resolve, 10, `You work for ${tenant(run).tenant}.`)),
  ],
])(
  'instructions may be a function of the run that returns %s: it is called once per run, and once per resume (A6)',
  async (_, given) => {
    const instructions = vi.fn<(run: Run) => string | Promise<string>>(given)
    const model = twice()
    const seen: string[] = []
    const hook: Middleware = { name: 'hook', beforeAgent: (setup) => void seen.push(setup.instructions) }
    const agent = createAgent({ model, instructions, tools: [ask], middleware: [hook] })
    let result = await settled(agent.run('Go', { context: { tenant: 'acme' } }))
    for (const name of ['beta', 'gamma']) {
      const answers = { [result.interrupts?.[0]?.id ?? '']: 'yes' }
      result = await settled(agent.resume(result.checkpoint ?? '', answers, { context: { tenant: name } }).result)
    }
    const told = ['acme', 'beta', 'gamma'].map((name) => `You work for ${name}.`)
    expect(result.text).toBe('Done.')
    expect(model.requests.map((request) => request.instructions)).toEqual(told)
    expect(seen).toEqual(told)
    expect(instructions).toHaveBeenCalledTimes(3)
  },
)

test('one agent has different instructions in each of its parallel runs (A4)', async () => {
  const model = scriptedModel([respond(say('Hi.')), respond(say('Hi.'))])
  const agent = createAgent({ model, instructions: (run) => tenant(run).tenant })
  await settled(Promise.all(['a', 'b'].map((name) => agent.run('Go', { context: { tenant: name } }))))
  expect(model.requests.map(({ instructions }) => instructions)).toEqual(['a', 'b'])
})

test.each([
  [
    'throws',
    () => {
      throw new Error('no luck')
    },
    'MiddlewareError',
    'threw no luck',
  ],
  ['returns no text', () => 3 as never, 'MiddlewareError', 'must be a string'],
  ['reads a missing context', (run: Run) => tenant(run).tenant, 'ContextError', 'instructions'],
])(
  'instructions that fail end the run before its first model call: the function %s (A24)',
  async (_, instructions, name, message) => {
    const model = scriptedModel([])
    const error = await failureOf(createAgent({ model, instructions }).run('Go'))
    expect(error).toMatchObject({ name, message: expect.stringContaining(message) })
    expect(model.requests).toEqual([])
  },
)

test('instructions may be absent, and a value that is neither text nor function is a ConfigError (A6, A2)', async () => {
  const model = scriptedModel([respond(say('Hi.'))])
  await settled(createAgent({ model, instructions: () => undefined as never }).run('Go'))
  expect(model.requests[0]?.instructions).toBe('')
  expect(() => createAgent({ model, instructions: 3 as never })).toThrow('instructions: must be a string')
})
