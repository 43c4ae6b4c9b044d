import { expect, test } from 'vitest'
import { between, endOf, failureOf, twoSteps, wrapHooks } from '../../test/faulty-middleware.ts'
import { answer } from '../../test/messages.ts'
import { echo } from '../../test/tools.ts'
import { type AgentState, createAgent, type Flow, type Message, type Middleware, MiddlewareError } from '../index.ts'

const image = { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: new Uint8Array([1]) }] }

test.for<readonly [hook: string, middleware: object]>([
  ['beforeModel', { beforeModel: ({ messages }: AgentState) => ({ messages: [...messages, image] }) }],
  ['afterModel', { afterModel: ({ messages }: AgentState) => ({ messages: [image, ...messages] }) }],
  ['beforeFinalAnswer', { beforeFinalAnswer: () => ({ accept: false, feedback: [image] }) }],
])(
  'a message of a %s with an invalid part is a MiddlewareError that explains what a part is (C17)',
  async ([hook, middleware]) => {
    const message = expect.stringMatching(/a part of its content is .*, its data as base64 or \{ url \}$/)
    expect(await failureOf(middleware)).toMatchObject({ name: 'MiddlewareError', middleware: 'faulty', hook, message })
  },
)

test('the error for an invalid verdict lists the two valid ones (C9)', async () => {
  for (const verdict of JSON.parse('[true, {}, { "accept": "yes" }]')) {
    const error = await failureOf({ beforeFinalAnswer: () => verdict })
    expect(error).toMatchObject({
      name: 'MiddlewareError',
      message: expect.stringMatching(/must be { accept: true } or { accept: false, feedback: '…' }$/),
    })
  }
})

test.for(wrapHooks)('%s that returns no flow is an error that asks for an async generator (C17)', async (hook) => {
  const lost = async () => Promise.reject(new Error('lost'))
  for (const give of [async () => answer('mine'), lost, () => undefined, () => answer('mine')]) {
    const error = await failureOf({ [hook]: give })
    const message = `middleware faulty, ${hook}: the wrap did not return a flow; make it \`async *${hook}(…)\``
    expect(error).toMatchObject({ name: 'MiddlewareError', message })
  }
})

const noAnswer: readonly (readonly [string, readonly Message[]])[] = [
  ['nothing', []],
  ['a user message', [{ role: 'user', content: 'Go' }]],
  [
    'a tool message',
    [{ role: 'user', content: 'Go' }, answer('Hm.'), { role: 'tool', callId: 'c', name: 'echo', content: [] }],
  ],
]

test.for(noAnswer)('a state of afterModel that ends with %s is a MiddlewareError (C9)', async ([, messages]) => {
  const error = await failureOf({ afterModel: () => ({ messages }) })
  expect(error).toBeInstanceOf(MiddlewareError)
  expect(error).toMatchObject({ middleware: 'faulty', hook: 'afterModel' })
})

const noResult = [
  ['wrapModel', 'null', 'passes on'],
  ['wrapModel', '{"role":"user","content":"Hi"}', 'passes nothing on'],
  ['wrapToolCall', 'null', 'passes on'],
  ['wrapToolCall', '{"role":"tool"}', 'passes nothing on'],
  ['wrapAgent', 'null', 'passes on'],
] as const

test.for(noResult)('a %s that returns %s and %s is a MiddlewareError (C16)', async ([hook, json, passes]) => {
  const error = await failureOf({
    async *[hook](given: never, next: (given: never) => Flow<never, unknown>) {
      if (passes === 'passes on') yield* next(given)
      return JSON.parse(json)
    },
  })
  expect(error).toBeInstanceOf(MiddlewareError)
  expect(error).toMatchObject({ middleware: 'faulty', hook })
  expect(error).not.toHaveProperty('cause')
})

const wrongParts = { role: 'assistant', content: [null], finishReason: 'stop' }

test.for([
  ['wrapModel', wrongParts],
  ['wrapToolCall', { role: 'tool', callId: 'x', name: 'echo', content: [{ type: 'text' }] }],
  ['wrapAgent', { status: 'completed', message: wrongParts, text: '', messages: [] }],
  ['wrapAgent', { status: 'completed', message: answer('Hi.'), text: 'Hi.', messages: 'all' }],
  ['wrapAgent', { status: 'done', message: answer('Hi.'), text: 'Hi.', messages: [] }],
] as const)('a %s that returns an invalid value is a MiddlewareError (P16, C16)', async ([hook, junk]) => {
  const faulty = {
    async *[hook](given: never, next: (given: never) => Flow<never, unknown>) {
      yield* next(given)
      return junk
    },
  }
  const { error } = await endOf(between(faulty))
  expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'faulty', hook })
})

test.each(['zz', undefined])(
  'a wrapModel that returns the finish reason %s is named in the error (P16, P18)',
  async (finishReason) => {
    const middleware: Middleware = {
      name: 'bad',
      async *wrapModel(request, next) {
        return { ...(yield* next(request)), finishReason: finishReason as 'stop' }
      },
    }
    const agent = createAgent({ model: twoSteps(), tools: [echo], middleware: [middleware] })
    await expect(agent.run('Go')).rejects.toMatchObject({
      name: 'MiddlewareError',
      message: 'middleware bad, wrapModel: the message has no valid finishReason',
    })
  },
)

function holes(): Message[] {
  const messages: Message[] = []
  messages[1] = { role: 'user', content: 'Hm?' }
  return messages
}

test.each<[string, Omit<Middleware, 'name'>]>([
  ['beforeModel', { beforeModel: () => ({ messages: holes() }) }],
  ['beforeFinalAnswer', { beforeFinalAnswer: () => ({ accept: false, feedback: holes() }) }],
  ['wrapModel', { wrapModel: (request, next) => next({ ...request, messages: holes() }) }],
])('a list of messages with holes from %s is its fault (P16)', async (hook, more) => {
  const agent = createAgent({ model: twoSteps(), tools: [echo], middleware: [{ name: 'bad', ...more }] })
  await expect(agent.run('Go')).rejects.toMatchObject({ name: 'MiddlewareError', middleware: 'bad', hook })
})
