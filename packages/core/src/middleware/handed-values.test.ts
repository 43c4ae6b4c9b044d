import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { between, endOf, good, wrapHooks } from '../../test/faulty-middleware.ts'
import { echo, toolOf } from '../../test/tools.ts'
import { createAgent, type Flow, type Message, type Middleware, MiddlewareError } from '../index.ts'

// Values that middleware and tools pass on to core.

const JUNK: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['a number', 5],
  ['a text', 'junk'],
  ['a list', []],
  ['an empty object', {}],
]

/** A wrap must pass on a value; a hook that returns nothing keeps the previous one. */
const NOTHING: readonly (readonly [string, unknown])[] = [
  ['undefined', undefined],
  ['null', null],
  ['nothing but false', false],
]

test.for(JUNK)('%s from beforeAgent is the fault of that middleware, and of no other (P16, C17)', async ([, junk]) => {
  const { error, requests } = await endOf(between({ beforeAgent: () => junk as never }))
  expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'faulty', hook: 'beforeAgent' })
  expect(error).toMatchObject({ cause: { name: 'ConfigError' } })
  expect(requests).toBe(0)
})

test('if the set-ups of two beforeAgents do not fit together, the later one is named (P16, A3)', async () => {
  const adds = (name: string): Middleware => ({
    name,
    beforeAgent: (setup) => ({ ...setup, tools: [...setup.tools, { ...echo, name: 'added' }] }),
  })
  const { error } = await endOf([adds('first'), adds('second'), { ...good }])
  expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'second', hook: 'beforeAgent' })
  expect((error as Error).message).toMatch('"added"')
})

const handing = wrapHooks.flatMap((hook) => [...JUNK, ...NOTHING].map(([what, junk]) => [hook, what, junk] as const))

test.for(handing)('a value that %s passes to next, when it is %s, is its fault (P16)', async ([hook, , junk]) => {
  const faulty = { [hook]: (_: unknown, next: (given: unknown) => Flow<never, unknown>) => next(junk) }
  const { error, requests } = await endOf(between(faulty))
  expect(error).toBeInstanceOf(MiddlewareError)
  expect(error).toMatchObject({ middleware: 'faulty', hook })
  expect(requests).toBe(hook === 'wrapToolCall' ? 1 : 0)
})

const members = [
  ['model', { provider: 'p', id: 'i' }],
  ['instructions', 5],
  ['messages', [{ role: 'user', content: [null] }]],
  ['messages', 'Go'],
  ['tools', ['echo']],
  ['toolChoice', 5],
  ['output', 'text'],
  ['settings', null],
  ['inputLimits', undefined],
  ['takenIds', ['a']],
  ['clientRetries', 'twice'],
  ['signal', undefined],
] as const

test.for(members)(
  'a request whose %s is %j is the fault of the wrapModel that passes it on (P16)',
  async ([member, junk]) => {
    const faulty: Omit<Middleware, 'name'> = {
      wrapModel: (request, next) => next({ ...request, [member]: junk }),
    }
    const { error, requests } = await endOf(between(faulty))
    expect(error).toMatchObject({
      name: 'MiddlewareError',
      middleware: 'faulty',
      hook: 'wrapModel',
      message: expect.stringContaining(`the request has no valid ${member}`),
    })
    expect(requests).toBe(0)
  },
)

test('a history that a wrap received and passes on is not checked again (P16)', async () => {
  const readsWith = async (wraps: number) => {
    let reads = 0
    function counted(message: Message): Message {
      const content = () => {
        reads++
        return message.content
      }
      return Object.defineProperty({ ...message }, 'content', { get: content })
    }
    const counting: Middleware = {
      name: 'counting',
      wrapModel: (request, next) => next({ ...request, messages: request.messages.map(counted) }),
    }
    const passing = Array.from(
      { length: wraps },
      (_, n): Middleware => ({
        name: `passing ${n}`,
        wrapModel: (request, next) => next({ ...request }),
      }),
    )
    await endOf([counting, ...passing])
    return reads
  }
  const reads = await readsWith(0)
  expect(reads).toBeGreaterThan(0)
  expect(await readsWith(5)).toBe(reads)
})

test('a wrap that catches what next throws may pass on something better (P16)', async () => {
  const careful: Middleware = {
    name: 'careful',
    async *wrapModel(request, next) {
      try {
        return yield* next({ ...request, messages: undefined as never })
      } catch {
        return yield* next(request)
      }
    },
  }
  expect((await endOf([careful])).result?.text).toBe('done')
})

test('an invalid request for a side call is the fault of the hook that makes it, not of the model (P16, N29)', async () => {
  for (const request of [
    undefined,
    {},
    { messages: 'Hi' },
    { messages: [{ role: 'user', content: 'Hi' }], model: 5 },
  ]) {
    const { error, requests } = await endOf([
      { name: 'asks', beforeModel: async (_, run) => void (await run.callModel(request as never)) },
    ])
    expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'asks', hook: 'beforeModel' })
    expect(requests).toBe(0)
  }
})

test('a tool that makes a call with an input that is not JSON fails, and its run goes on (P16, A23)', async () => {
  const makes = toolOf('makes', ({ run }) => run?.callTool({ type: 'tool-call', id: 'in', name: 'echo', input: 5n }))
  const model = scriptedModel([respond(call('makes', {})), respond(say('done'))])
  const { text } = await createAgent({ model, tools: [makes, echo] }).run('Go')
  expect(text).toBe('done')
})
