import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { observed } from '../../test/observed.ts'
import { toolOf } from '../../test/tools.ts'
import {
  AgentError,
  type AgentOptions,
  createAgent,
  MaxStepsError,
  type Middleware,
  type Model,
  ModelError,
  type ModelErrorData,
  runTool,
  TimeoutError,
} from '../index.ts'

// The set of `error.type` values is small, on every kind of span and on metrics.

/** What a provider sent. */
const WORD = 'the provider says '.repeat(312).trim()

class OwnError extends Error {
  override readonly name = 'OwnError'
}
class OfOurs extends AgentError {
  override readonly name = 'OfOurs'
}

/** An error with a name that other code has set. */
const named = (name: unknown, error: Error = new Error('no')) => Object.defineProperty(error, 'name', { value: name })

const hostile = () =>
  new Proxy(new Error('no'), {
    get() {
      throw new Error('hands off')
    },
  })

/** As bundlers write it. */
class t extends Error {
  override readonly name = 'PaymentError'
}
class e2 extends Error {}

interface Thrown {
  readonly who: string
  readonly error: () => unknown
  readonly type: string
}

const thrown: readonly Thrown[] = [
  { who: 'of JavaScript', error: () => new RangeError('no'), type: 'RangeError' },
  { who: 'of a class of its own', error: () => new OwnError('no'), type: 'OwnError' },
  {
    who: 'of a class of its own that says no name',
    error: () => new (class Unnamed extends TypeError {})('no'),
    type: 'TypeError',
  },
  { who: 'of a class that was minified', error: () => new t('no'), type: 'PaymentError' },
  {
    who: 'of a minified class, with a name that is no name of a class',
    error: () => named('rate_limit_exceeded', new e2('no')),
    type: '_OTHER',
  },
  { who: 'of a class that extends one of ours', error: () => new OfOurs('no'), type: 'OfOurs' },
  { who: 'of ours', error: () => new MaxStepsError(1), type: 'MaxStepsError' },
  { who: 'that a platform throws at an abort', error: () => new DOMException('no', 'AbortError'), type: 'AbortError' },
  {
    who: 'that a platform throws at a time limit',
    error: () => new DOMException('no', 'TimeoutError'),
    type: 'TimeoutError',
  },
  { who: 'whose name is a word of a provider', error: () => named('rate_limit_exceeded'), type: '_OTHER' },
  { who: 'whose name looks like that of a class', error: () => named('Error4711'), type: '_OTHER' },
  { who: 'whose name is that of another class', error: () => named('OwnError'), type: '_OTHER' },
  {
    who: 'whose class seems to have that name',
    error: () => Object.assign(named('Made'), { constructor: { name: 'Made' } }),
    type: '_OTHER',
  },
  { who: 'with a long name', error: () => named(WORD, new OwnError('no')), type: '_OTHER' },
  { who: 'without a name', error: () => named('', new RangeError('no')), type: '_OTHER' },
  { who: 'whose name is no text', error: () => named({ toString: () => WORD }), type: '_OTHER' },
  { who: 'of a class without a name', error: () => new (class extends TypeError {})('no'), type: 'TypeError' },
  { who: 'that cannot be looked at', error: hostile, type: '_OTHER' },
  { who: 'that is none', error: () => WORD, type: '_OTHER' },
]

function throwOf({ error }: Thrown): never {
  throw error()
}

const throwingModel = (error: () => unknown): Model => ({
  provider: 'own',
  id: 'own-1',
  stream() {
    throw error()
  },
})

async function typesOf(options: Partial<AgentOptions>) {
  const { telemetry, spans, points } = observed()
  const model = scriptedModel([respond(call('t')), respond(say('Done.'))])
  await createAgent({ model, ...options, telemetry })
    .run('Go')
    .catch(() => undefined)
  const kinds: object = Object.fromEntries(
    spans().map(({ name, attributes }) => [name.split(' ')[0] ?? '', attributes['error.type']]),
  )
  const measured = (await points()).flatMap(({ name, attributes }) =>
    attributes['error.type'] === undefined ? [] : [[name, attributes['error.type']]],
  )
  return { kinds, measured: Object.fromEntries(measured) as object }
}

test.for(thrown)('an error $who has the type $type on the tool that throws it, and on a wrap (P13)', async (one) => {
  const through: Middleware = { name: 'through', wrapToolCall: (call, next) => next(call) }
  const tools = [toolOf('t', () => throwOf(one))]
  const { kinds, measured } = await typesOf({ tools, middleware: [through] })
  expect(kinds).toMatchObject({ execute_tool: one.type, middleware: one.type })
  expect(measured).toMatchObject({ 'gen_ai.execute_tool.duration': one.type })
})

test.for(thrown)(
  'an error $who has the type $type on the hook that throws it, and on the run its own class (P13)',
  async (one) => {
    const faulty: Middleware = { name: 'faulty', beforeModel: () => throwOf(one) }
    const { kinds, measured } = await typesOf({ middleware: [faulty] })
    const ofRun = one.error() instanceof AgentError ? one.type : 'MiddlewareError'
    expect(kinds).toMatchObject({ middleware: one.type, invoke_agent: ofRun })
    expect(measured).toEqual({ 'gen_ai.invoke_agent.duration': ofRun })
  },
)

test.for(thrown)('an error $who has the type $type on the model call that it ends (P13)', async (one) => {
  const { kinds, measured } = await typesOf({ model: throwingModel(one.error) })
  const ofRun = one.error() instanceof AgentError ? one.type : 'ModelError'
  expect(kinds).toMatchObject({ chat: one.type, invoke_agent: ofRun })
  expect(measured).toEqual({ 'gen_ai.client.inference.duration': one.type, 'gen_ai.invoke_agent.duration': ofRun })
})

const failed: readonly (readonly [string, ModelErrorData])[] = [
  ['503', { code: WORD, status: 503, retryable: true }],
  ['stream_truncated', { code: 'stream_truncated', retryable: true }],
  ['invalid_call_id', { code: 'invalid_call_id', retryable: false }],
  ['connection', { code: 'connection', retryable: true, cause: named(WORD) }],
  ['RangeError', { code: 'unknown', retryable: false, cause: new RangeError('no') }],
  ['ModelError', { code: 'unknown', retryable: false }],
  ['_OTHER', { code: 'unknown', retryable: false, cause: named('rate_limit_exceeded') }],
  ['_OTHER', { code: 'unknown', retryable: false, cause: WORD }],
  ['_OTHER', { code: 'unknown', retryable: false, data: { message: 'no' }, cause: new OwnError('no') }],
  ['_OTHER', { code: WORD, retryable: false }],
  ['_OTHER', { code: 'rate_limit_exceeded', retryable: true }],
  ['_OTHER', { code: '', retryable: true }],
  ['_OTHER', { code: 'Error', retryable: true }],
  ...[0, 99, 600, 5_600, 502.5, -503, Number.NaN].map(
    (status) => ['_OTHER', { code: 'x', status, retryable: true }] as const,
  ),
]

test.for(failed.map(([type, data]) => ({ type, data, said: JSON.stringify(data).slice(0, 60) })))(
  'a model error is $type: $said (P13)',
  async ({ type, data }) => {
    const { kinds, measured } = await typesOf({ model: throwingModel(() => new ModelError(WORD, data)) })
    expect(kinds).toEqual({ chat: type, invoke_agent: 'ModelError' })
    expect(measured).toEqual({ 'gen_ai.client.inference.duration': type, 'gen_ai.invoke_agent.duration': 'ModelError' })
  },
)

test('the same holds for a side call, and for a tool outside of a run (P13)', async () => {
  const asking: Middleware = {
    name: 'asking',
    async beforeModel(_, run) {
      const messages = [{ role: 'user' as const, content: 'Hm?' }]
      const model = throwingModel(() => new ModelError('no', { code: WORD, retryable: false }))
      await run.callModel({ model, messages }).catch(() => undefined)
    },
  }
  const { telemetry, spans, span } = observed()
  await createAgent({ model: scriptedModel([respond(say('Hi.'))]), middleware: [asking], telemetry }).run('Go')
  expect(spans().map(({ name, attributes }) => [name, attributes['error.type']])).toContainEqual([
    'chat own-1',
    '_OTHER',
  ])
  const alone = runTool(
    toolOf('alone', () => {
      throw named(WORD)
    }),
    {},
    { telemetry },
  )
  await expect(alone.result).rejects.toThrow('no')
  expect(span('execute_tool alone').attributes['error.type']).toBe('_OTHER')
})

test('a class that was minified has one name: that of its first error (P13)', async () => {
  const typeOfTool = async (error: Error) => {
    const tools = [toolOf('t', () => throwOf({ who: '', error: () => error, type: '' }))]
    return (await typesOf({ tools })).kinds
  }
  class a extends Error {}
  expect(await typeOfTool(named('FirstError', new a('no')))).toMatchObject({ execute_tool: 'FirstError' })
  expect(await typeOfTool(named('SecondError', new a('no')))).toMatchObject({ execute_tool: '_OTHER' })
  expect(await typeOfTool(named('FirstError', new a('no')))).toMatchObject({ execute_tool: 'FirstError' })
})

test('a time limit is called timeout on what it limits, and by its class elsewhere (P13)', async () => {
  const { kinds } = await typesOf({ model: throwingModel(() => new TimeoutError('idle', 50)) })
  expect(kinds).toEqual({ chat: 'timeout', invoke_agent: 'TimeoutError' })
})
