import { scriptedModel } from '@meanwhile/assemble/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  type AgentOptions,
  type AssistantMessage,
  ConfigError,
  createAgent,
  type Middleware,
  type Model,
  type ModelEvent,
  map,
  type ToolCall,
  tool,
} from '../index.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Lets the reader catch up with everything that has been emitted by now. */
const pause = (ms = 1) => new Promise((resolve) => setTimeout(resolve, ms))

/** A middleware with every hook and wrap; each logs itself once the reader has seen the earlier events. */
function recording(name: string, record: (line: string) => void): Middleware {
  const told = async (line: string) => {
    await pause()
    record(`${line} ${name}`)
  }
  const seen =
    (kind: string) =>
    <Event extends { readonly type?: string | undefined }>(event: Event): Event => {
      record(`${kind} ${name} sees ${event.type ?? 'progress'}`)
      return event
    }
  return {
    name,
    beforeAgent: () => told('beforeAgent'),
    beforeModel: () => told('beforeModel'),
    afterModel: () => told('afterModel'),
    beforeFinalAnswer: () => told('beforeFinalAnswer'),
    async *wrapAgent(setup, next) {
      await told('wrapAgent in')
      const result = yield* next(setup)
      await told('wrapAgent out')
      return result
    },
    async *wrapModel(request, next) {
      await told('wrapModel in')
      const message = yield* map(next(request), seen('wrapModel'))
      await told('wrapModel out')
      return message
    },
    async *wrapToolCall(call, next) {
      await told('wrapToolCall in')
      const message = yield* map(next(call), seen('wrapToolCall'))
      await told('wrapToolCall out')
      return message
    },
  }
}

/** Runs an agent with one recorder for hooks, wraps and reader; the options may use `record` themselves. */
async function recorded(make: (record: (line: string) => void) => AgentOptions): Promise<string[]> {
  const lines: string[] = []
  const record = (line: string) => void lines.push(line)
  const run = createAgent(make(record)).stream('Go')
  const read = (async () => {
    for await (const event of run)
      record(
        event.type === 'message' ? 'message event' : 'callId' in event ? `${event.type} ${event.callId}` : event.type,
      )
  })()
  await vi.runAllTimersAsync()
  await read
  return lines
}

/** A model that streams these events one by one, `gap` ms apart. */
function speaking(record: (line: string) => void, answers: readonly (readonly ModelEvent[])[], gap = 1): Model {
  let next = 0
  return {
    provider: 'own',
    id: 'own-1',
    async *stream() {
      await pause()
      record('model')
      const content: AssistantMessage['content'][number][] = []
      for (const event of answers[next++] ?? []) {
        yield event
        await pause(gap)
        if (event.type === 'text-delta') content.push({ type: 'text', text: event.delta })
        if (event.type === 'tool-call') content.push(event.call)
      }
      record('message')
      return { role: 'assistant', content, finishReason: 'stop' }
    },
  }
}

const answer: readonly ModelEvent[] = [{ type: 'text-delta', delta: 'Hi' }]

test('in a run of [A, B] the outer hooks and wraps surround the steps (C2, C3)', async () => {
  const outer = (record: (line: string) => void, name: string): Middleware => {
    const { beforeAgent, wrapAgent } = recording(name, record)
    return { name, ...(beforeAgent && { beforeAgent }), ...(wrapAgent && { wrapAgent }) }
  }
  const lines = await recorded((record) => ({
    model: speaking(record, [answer]),
    middleware: [outer(record, 'A'), outer(record, 'B')],
  }))
  expect(lines).toEqual([
    'run-start',
    'beforeAgent A',
    'beforeAgent B',
    'wrapAgent in A',
    'wrapAgent in B',
    'step-start',
    'attempt-start',
    'model',
    'text-delta',
    'message',
    'message event',
    'step-end',
    'wrapAgent out B',
    'wrapAgent out A',
    'run-end',
  ])
})

test('in a step that answers, hooks, wraps, events and gate come in their order (C2, C4)', async () => {
  const lines = await recorded((record) => ({
    model: speaking(record, [answer]),
    middleware: [recording('A', record), recording('B', record)],
  }))
  expect(lines.slice(lines.indexOf('step-start'), lines.indexOf('step-end') + 1)).toEqual([
    'step-start',
    'beforeModel A',
    'beforeModel B',
    'wrapModel in A',
    'wrapModel in B',
    'attempt-start',
    'model',
    'wrapModel B sees text-delta',
    'wrapModel A sees text-delta',
    'text-delta',
    'message',
    'wrapModel out B',
    'wrapModel out A',
    'message event',
    'afterModel B',
    'afterModel A',
    'beforeFinalAnswer A',
    'beforeFinalAnswer B',
    'step-end',
  ])
})

/** A tool whose schema, function and `toContent` log themselves. */
function telling(record: (line: string) => void) {
  const { '~standard': schema } = z.object({ n: z.number() })
  return tool({
    name: 'work',
    description: 'Works.',
    input: {
      '~standard': {
        ...schema,
        async validate(input) {
          await pause()
          record(`input check ${JSON.stringify(input)}`)
          return schema.validate(input)
        },
      },
    },
    async *execute({ n }) {
      await pause()
      record(`execute ${n}`)
      yield { message: 'working' }
      await pause()
      return n
    },
    toContent(n) {
      record(`content ${n}`)
      return [{ type: 'text', text: String(n) }]
    },
  })
}

const work = (n: number): ToolCall => ({ type: 'tool-call', id: `c${n}`, name: 'work', input: { n } })

test('in a step with a call, everything of the call comes between afterModel and step-end (C4, C5)', async () => {
  const lines = await recorded((record) => ({
    model: speaking(record, [[{ type: 'tool-call', call: work(1) }], answer]),
    tools: [telling(record)],
    async prepareInput(input) {
      await pause()
      record('prepareInput')
      return input
    },
    middleware: [recording('A', record), recording('B', record)],
  }))
  expect(lines.slice(lines.indexOf('step-start'), lines.indexOf('step-end') + 1)).toEqual([
    'step-start',
    'beforeModel A',
    'beforeModel B',
    'wrapModel in A',
    'wrapModel in B',
    'attempt-start',
    'model',
    'wrapModel B sees tool-call',
    'wrapModel A sees tool-call',
    'tool-call',
    'message',
    'wrapModel out B',
    'wrapModel out A',
    'message event',
    'afterModel B',
    'afterModel A',
    'tool-start c1',
    'prepareInput',
    'wrapToolCall in A',
    'wrapToolCall in B',
    'input check {"n":1}',
    'tool-entered c1',
    'execute 1',
    'wrapToolCall B sees progress',
    'wrapToolCall A sees progress',
    'tool-progress c1',
    'content 1',
    'wrapToolCall out B',
    'wrapToolCall out A',
    'tool-end c1',
    'message event',
    'step-end',
  ])
})

/** A middleware with only wrapToolCall, which logs its call. */
function roundCalls(name: string, record: (line: string) => void): Middleware {
  return {
    name,
    async *wrapToolCall(call, next) {
      await pause()
      record(`${name} in ${call.id}`)
      try {
        return yield* next(call)
      } finally {
        await pause()
        record(`${name} out ${call.id}`)
      }
    },
  }
}

const ofCalls = (lines: readonly string[]) =>
  lines.filter((line) => /c\d|input check|execute|content|aborted/.test(line) && !line.startsWith('tool-call'))

test('the slot is taken inside the wraps, before the input check (C5)', async () => {
  const calls = [work(1), work(2)].map((call) => ({ type: 'tool-call', call }) as const)
  const lines = await recorded((record) => ({
    model: speaking(record, [calls, answer]),
    tools: [telling(record)],
    toolConcurrency: 1,
    middleware: [roundCalls('A', record), roundCalls('B', record)],
  }))
  expect(ofCalls(lines)).toEqual([
    'tool-start c1',
    'tool-start c2',
    'A in c1',
    'A in c2',
    'B in c1',
    'B in c2',
    'input check {"n":1}',
    'tool-entered c1',
    'execute 1',
    'tool-progress c1',
    'content 1',
    'B out c1',
    'A out c1',
    'tool-end c1',
    'input check {"n":2}',
    'tool-entered c2',
    'execute 2',
    'tool-progress c2',
    'content 2',
    'B out c2',
    'A out c2',
    'tool-end c2',
  ])
})

test('a throw of a tool passes the wraps as a throw, and becomes an error result outside them (C5, C18)', async () => {
  const lines = await recorded((record) => ({
    model: speaking(record, [[{ type: 'tool-call', call: work(1) }], answer]),
    tools: [
      tool({
        name: 'work',
        description: 'Fails.',
        input: z.object({ n: z.number() }),
        async execute() {
          await pause()
          record('execute')
          throw new Error('no disk')
        },
      }),
    ],
    middleware: ['A', 'B'].map((name) => ({
      name,
      async *wrapToolCall(call, next) {
        try {
          return yield* next(call)
        } catch (error) {
          await pause()
          record(`${name} c1: ${error instanceof Error && error.message}`)
          throw error
        }
      },
    })),
  }))
  expect(ofCalls(lines)).toEqual([
    'tool-start c1',
    'tool-entered c1',
    'execute',
    'B c1: no disk',
    'A c1: no disk',
    'tool-end c1',
  ])
})

test('a call started early takes the same path, once (C5, A23)', async () => {
  const lines = await recorded((record) => ({
    model: speaking(record, [[{ type: 'tool-call', call: work(1) }], answer], 50),
    tools: [telling(record)],
    async prepareInput(input) {
      await pause()
      record('c1 prepareInput')
      return input
    },
    middleware: [
      {
        name: 'early',
        async *wrapModel(request, next, run) {
          return yield* map(next(request), (event) => {
            if (event.type === 'tool-call') void run.callTool(event.call)
            return event
          })
        },
      },
      roundCalls('A', record),
      roundCalls('B', record),
    ],
  }))
  expect(ofCalls(lines)).toEqual([
    'tool-start c1',
    'c1 prepareInput',
    'A in c1',
    'B in c1',
    'input check {"n":1}',
    'tool-entered c1',
    'execute 1',
    'tool-progress c1',
    'content 1',
    'B out c1',
    'A out c1',
    'tool-settled c1',
    'tool-committed c1',
    'tool-end c1',
  ])
})

test('a whole run of [A, B] combines these orders (C2, C3, C4, C5)', async () => {
  const lines = await recorded((record) => ({
    model: speaking(record, [[{ type: 'tool-call', call: work(1) }], answer]),
    tools: [telling(record)],
    middleware: [recording('A', record), recording('B', record)],
  }))
  const upTo = (end: string) => lines.splice(0, lines.indexOf(end) + 1)
  expect(upTo('wrapAgent in B')).toEqual([
    'run-start',
    'beforeAgent A',
    'beforeAgent B',
    'wrapAgent in A',
    'wrapAgent in B',
  ])
  const [first, second] = [upTo('step-end'), upTo('step-end')]
  expect(first).not.toContain('beforeFinalAnswer A')
  expect(first.filter((line) => line.startsWith('tool-'))).toEqual([
    'tool-call',
    'tool-start c1',
    'tool-entered c1',
    'tool-progress c1',
    'tool-end c1',
  ])
  expect(second.slice(0, 3)).toEqual(['step-start', 'beforeModel A', 'beforeModel B'])
  expect(second.slice(-3)).toEqual(['beforeFinalAnswer A', 'beforeFinalAnswer B', 'step-end'])
  expect(lines).toEqual(['wrapAgent out B', 'wrapAgent out A', 'run-end'])
})

test('a middleware at a place that contradicts its order is refused, and the error names the outer one (O20)', () => {
  const outer: Middleware = { name: 'outer', order: { outside: ['inner', 'nobody'] } }
  const inner: Middleware = { name: 'inner', order: { inside: ['other', 'nobody'] } }
  const other: Middleware = { name: 'other' }
  const make = (...middleware: readonly Middleware[]) => createAgent({ model: scriptedModel([]), middleware })
  for (const list of [[outer, other, inner], [other, outer, inner], [other, inner], [inner], []])
    expect(() => make(...list)).not.toThrow()
  for (const [list, problem] of [
    [[inner, outer], '"outer" must be outside "inner": put it earlier in the list'],
    [[inner, other], '"other" must be outside "inner": put it earlier in the list'],
  ] as const) {
    expect(() => make(...list)).toThrow(new ConfigError('middleware', problem))
  }
})

test('two that contradict each other in their orders are refused in either order, by both names (O20)', () => {
  const a: Middleware = { name: 'a', order: { outside: ['b'] } }
  const make = (...middleware: readonly Middleware[]) => createAgent({ model: scriptedModel([]), middleware })
  const first = (...names: readonly [string, string]) =>
    new ConfigError(
      'middleware',
      `"${names[0]}" and "${names[1]}" must each be outside the other, by their orders: a list cannot have both`,
    )
  for (const order of [{ outside: ['a'] }, { inside: ['other'], outside: ['a'] }]) {
    const b: Middleware = { name: 'b', order }
    expect(() => make(a, b)).toThrow(first('b', 'a'))
    expect(() => make(b, a)).toThrow(first('a', 'b'))
  }
  const inner: Middleware = { name: 'a', order: { inside: ['b'], outside: ['b'] } }
  expect(() => make(inner, { name: 'b' })).toThrow(first('b', 'a'))
})

test('a value that is not a middleware is refused with advice: a factory that was not called, a list in the list, an ignoresInput of a wrong type (A2, Q6)', () => {
  const make =
    (...middleware: readonly unknown[]) =>
    () =>
      createAgent({ model: scriptedModel([]), middleware: middleware as Middleware[] })
  const retryModel = (): Middleware => ({ name: 'retry-model' })
  expect(make(retryModel())).not.toThrow()
  for (const [wrong, problem] of [
    [retryModel, 'retryModel is a function that makes a middleware: call it, retryModel()'],
    [() => retryModel(), 'one of them is a function that makes a middleware: call it, make()'],
    [[retryModel()], 'one of them is a list: spread it, [...list]'],
    [[], 'one of them is a list: spread it, [...list]'],
    [undefined, 'one of them is not a middleware: undefined'],
    ['retry-model', 'one of them is not a middleware: retry-model'],
    [Promise.resolve(retryModel()), 'one of them has no name: a middleware needs one'],
    [{ name: '' }, 'one of them has no name: a middleware needs one'],
    [{ name: 'm', beforeModel: 5 }, '"m" has a beforeModel that is not a function'],
    [{ name: 'm', wrapModel: false }, '"m" has a wrapModel that is not a function'],
    [{ name: 'm', ignoresInput: 'all' }, '"m" has an ignoresInput that is neither true, false nor a function'],
    [
      { name: 'm', afterCheckpoint: () => undefined },
      '"m" has afterCheckpoint, and none of the methods of a middleware: beforeAgent, beforeModel, afterModel, beforeFinalAnswer, wrapAgent, ' +
        'wrapModel, wrapToolCall',
    ],
  ] as const) {
    expect(make({ name: 'other' }, wrong)).toThrow(new ConfigError('middleware', problem))
  }
  // It may have its own methods, and hooks that are undefined.
  expect(make({ name: 'quiet', report: () => undefined } as never)).not.toThrow()
  const alone = { model: scriptedModel([]), middleware: retryModel() as never }
  expect(() => createAgent(alone)).toThrow(new ConfigError('middleware', 'must be a list'))
})
