import { call, collect, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { early, withdrawing } from '../../test/early-calls.ts'
import { good, oops, twoSteps, watching } from '../../test/faulty-middleware.ts'
import { echo, toolOf } from '../../test/tools.ts'
import {
  createAgent,
  type Middleware,
  settle,
  ToolBusyError,
  ToolInputError,
  type ToolMessage,
  ToolTimeoutError,
  textOf,
  tool,
} from '../index.ts'

/** What the model reads if a wrap throws after the tool has run. */
const after = (tool: string, error: string) =>
  `${tool} ran, and its effect may have happened, but then the call failed: ${error}`

test('an error that wrapToolCall throws fails its call, without stack, and the run goes on; the model reads that the tool ran (C18, W6)', async () => {
  const agent = createAgent({
    model: scriptedModel([respond(call('echo', { text: 'a' }), call('echo', { text: 'b' })), respond(say('done'))]),
    tools: [echo],
    middleware: [
      {
        name: 'picky',
        async *wrapToolCall(call, next) {
          const message = yield* next(call)
          if (textOf(message) === 'a') throw oops
          return message
        },
      },
    ],
  })
  const { events, result } = await collect(agent.stream('Go'))
  const messages: readonly ToolMessage[] = [
    {
      role: 'tool',
      callId: 'call_1_1',
      name: 'echo',
      content: [{ type: 'text', text: after('echo', 'oops') }],
      isError: true,
    },
    { role: 'tool', callId: 'call_1_2', name: 'echo', content: [{ type: 'text', text: 'b' }], output: 'b' },
  ]
  expect(result?.messages.slice(2, 4)).toEqual(messages)
  expect(events.flatMap((event) => (event.type === 'tool-end' ? [event.message] : [])).toSorted(byId)).toEqual(messages)
  expect(result?.text).toBe('done')
})

const byId = (a: ToolMessage, b: ToolMessage) => a.callId.localeCompare(b.callId)

test('an error of a tool reaches wrapToolCall unchanged, to retry or replace (C18)', async () => {
  const seen: unknown[] = []
  const agent = createAgent({
    model: twoSteps(),
    tools: [
      tool({
        ...echo,
        execute: (): string => {
          throw oops
        },
      }),
    ],
    middleware: [
      {
        name: 'replaces',
        async *wrapToolCall(call, next) {
          try {
            return yield* next(call)
          } catch (error) {
            seen.push(error)
            return { role: 'tool', callId: call.id, name: call.name, content: [{ type: 'text', text: 'never mind' }] }
          }
        },
      },
      watching('inside', seen),
    ],
  })
  const result = await agent.run('Go')
  expect(seen).toEqual([oops, oops])
  expect(seen.every((one) => one === oops)).toBe(true)
  expect(result.messages[2]).toEqual({
    role: 'tool',
    callId: 'call_1_1',
    name: 'echo',
    content: [{ type: 'text', text: 'never mind' }],
  })
})

test('the span of a wrapToolCall that threw names it and its failure; those outside it show it, those inside do not (C18)', async () => {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const passing = (name: string): Middleware => ({
    name,
    async *wrapToolCall(call, next) {
      return yield* next(call)
    },
  })
  const agent = createAgent({
    model: twoSteps(),
    tools: [echo],
    middleware: [
      passing('outside'),
      {
        name: 'faulty',
        async *wrapToolCall(call, next) {
          yield* next(call)
          throw new RangeError('too much')
        },
      },
      passing('inside'),
    ],
    telemetry: { tracerProvider },
  })
  await agent.run('Go')
  const wraps = exporter.getFinishedSpans().filter(({ name }) => name.startsWith('middleware'))
  expect(Object.fromEntries(wraps.map(({ attributes, name }) => [name, attributes['error.type']]))).toEqual({
    'middleware outside wrapToolCall': 'RangeError',
    'middleware faulty wrapToolCall': 'RangeError',
    'middleware inside wrapToolCall': undefined,
  })
})

/** The texts of a run's warnings, all of which come from core. */
async function warningsOf(middleware: readonly Middleware[], execute: () => unknown = () => 'fine', calls = 1) {
  const asked = Array.from({ length: calls }, (_, n) => call('work', {}, { id: `c${n}` }))
  const work = toolOf('work', execute)
  const agent = createAgent({
    model: scriptedModel([respond(...asked), respond(say('done'))]),
    tools: [work],
    middleware,
  })
  const { result, events } = await collect(agent.stream('Go'))
  const warnings = result?.warnings ?? []
  expect(events.flatMap((event) => (event.type === 'warning' ? [event] : []))).toMatchObject(warnings)
  expect(warnings.every(({ code, source }) => code === 'wrap-threw' && source === 'core')).toBe(true)
  const results = result?.messages.flatMap((message) => (message.role === 'tool' ? [textOf(message)] : []))
  return { results, warnings: warnings.map(({ message }) => message) }
}

const throwing = (
  name: string,
  when: 'before' | 'after' | 'at once',
  error: unknown = new TypeError('no such key'),
): Middleware => ({
  name,
  wrapToolCall(call, next) {
    if (when === 'at once') throw error
    return (async function* () {
      if (when === 'before') throw error
      yield* next(call)
      throw error
    })()
  },
})

const blamed = 'middleware faulty threw in wrapToolCall, so call c0 of work failed: no such key'

test.for(['before', 'after', 'at once'] as const)(
  'the model reads an error that a wrapToolCall throws %s as a failure of the call, with whether its tool ran; a warning names the middleware (P16, C18, W6)',
  async (when) => {
    const passing = { ...good, name: 'passing' }
    expect(await warningsOf([passing, throwing('faulty', when), good])).toEqual({
      results: [when === 'after' ? after('work', 'no such key') : 'no such key'],
      warnings: [blamed],
    })
  },
)

test('a throw that is not an Error is reported in the same way (P16, C18)', async () => {
  for (const thrown of ['no such key', { reason: 1 }, undefined, null]) {
    const { warnings } = await warningsOf([throwing('faulty', 'after', thrown)])
    expect(warnings).toEqual([
      expect.stringMatching(/^middleware faulty threw in wrapToolCall, so call c0 of work failed: ./),
    ])
  }
})

const fails = () => {
  throw new RangeError('out of paper')
}

const replacing = (name: string, replace: (error: unknown) => unknown): Middleware => ({
  name,
  async *wrapToolCall(call, next) {
    try {
      return yield* next(call)
    } catch (error) {
      throw replace(error)
    }
  },
})

test('an error of a tool is its own failure, even if a wrap passes it on or rewords it (P16)', async () => {
  const ways = [
    (error: unknown) => error,
    (error: unknown) => new Error('it failed', { cause: error }),
    (error: unknown) => new Error('it failed', { cause: new Error('inside', { cause: error }) }),
    () => new RangeError('out of ***'),
  ]
  for (const way of ways) {
    const { warnings } = await warningsOf([{ ...good, name: 'outer' }, replacing('says', way), good], fails)
    expect(warnings).toEqual([])
  }
  for (const thrown of [undefined, null, 'a text', { reason: 1 }] as readonly unknown[])
    expect((await warningsOf([good], () => Promise.reject(thrown as Error))).warnings).toEqual([])
})

test('if one of two parallel executions fails, that stays a failure of the tool, although the other succeeded later (P16)', async () => {
  let executed = 0
  const both: Middleware = {
    name: 'both',
    async *wrapToolCall(call, next) {
      const [failed] = await Promise.allSettled([settle(next(call)), settle(next(call))])
      if (failed.status === 'fulfilled') return failed.value
      throw failed.reason
    },
  }
  const execute = async () => (executed++ === 0 ? fails() : 'fine')
  expect(await warningsOf([both], execute)).toEqual({ results: ['out of paper'], warnings: [] })
})

test('a wrap that throws after its second try succeeded is named, not the tool that failed at first (P16)', async () => {
  let executed = 0
  const faulty: Middleware = {
    name: 'faulty',
    async *wrapToolCall(call, next) {
      await settle(next(call)).catch(() => undefined)
      yield* next(call)
      throw new RangeError('no such key')
    },
  }
  const execute = async () => (executed++ === 0 ? fails() : 'fine')
  expect(await warningsOf([faulty], execute)).toEqual({ results: [after('work', 'no such key')], warnings: [blamed] })
})

test('a wrap that fails while it reads an error of a tool is named (P16)', async () => {
  const breaks = replacing('faulty', () => new TypeError('no such key'))
  expect(await warningsOf([breaks], fails)).toEqual({ results: [after('work', 'no such key')], warnings: [blamed] })
})

test('if outer wraps pass on or reword an error, only the one in which it began is named, once (P16)', async () => {
  const retries: Middleware = {
    name: 'retries',
    async *wrapToolCall(call, next) {
      try {
        return yield* next(call)
      } catch {
        return yield* next(call)
      }
    },
  }
  const counts = replacing('counts', (error) => new Error('tried twice', { cause: error }))
  const { results, warnings } = await warningsOf([counts, retries, throwing('faulty', 'after')])
  expect(results).toEqual([after('work', 'tried twice')])
  expect(warnings).toEqual(['middleware faulty threw in wrapToolCall, so call c0 of work failed: tried twice'])
})

test('an error that an outer wrap handles is not a warning (P16)', async () => {
  let tries = 0
  const flaky: Middleware = {
    name: 'flaky',
    async *wrapToolCall(call, next) {
      if (++tries === 1) throw new TypeError('not now')
      return yield* next(call)
    },
  }
  const retries: Middleware = {
    name: 'retries',
    async *wrapToolCall(call, next) {
      try {
        return yield* next(call)
      } catch {
        return yield* next(call)
      }
    },
  }
  expect(await warningsOf([retries, flaky])).toEqual({ results: ['fine'], warnings: [] })
})

test('an error that reports what happened to the call blames no wrap (P16)', async () => {
  const errors = [new ToolTimeoutError('work', 5), new ToolInputError('work', []), new ToolBusyError('work', 1)]
  for (const error of errors) expect((await warningsOf([throwing('judge', 'before', error)])).warnings).toEqual([])
})

test('a wrap that warns about its error itself is not reported again (P16, B15)', async () => {
  const warns: Middleware = {
    name: 'warns',
    async *wrapToolCall(call, next, run) {
      run.warn({ code: 'own', message: `of ${call.id}` })
      if (call.id === 'c0') throw new Error('no')
      return yield* next(call)
    },
  }
  const agent = createAgent({
    model: scriptedModel([respond(call('echo', { text: 'a' }, { id: 'c0' })), respond(say('done'))]),
    tools: [echo],
    middleware: [warns],
  })
  expect((await agent.run('Go')).warnings).toEqual([{ code: 'own', message: 'of c0', source: 'warns' }])
})

test('each of several calls that a wrap fails is reported (P16)', async () => {
  const { warnings } = await warningsOf([throwing('faulty', 'before')], undefined, 3)
  expect(warnings.map((warning) => warning.match(/call c\d/)?.[0])).toEqual(['call c0', 'call c1', 'call c2'])
})

test('a call that started early and is discarded causes no warning, because a run without early calls does not make it (P16, H16)', async () => {
  const asked = respond(call('echo', { text: 'a' }, { id: 'c0' }), wait(5), say('.'))
  for (const isKept of [true, false]) {
    const agent = createAgent({
      model: scriptedModel([asked, respond(say('done'))]),
      tools: [echo],
      middleware: [...(isKept ? [] : [withdrawing()]), early, throwing('faulty', 'before')],
    })
    expect((await agent.run('Go')).warnings.map(({ code }) => code)).toEqual(isKept ? ['wrap-threw'] : [])
  }
})
