import {
  type AgentEvent,
  createAgent,
  type Message,
  type Middleware,
  ModelError,
  type Tool,
  tool,
} from '@meanwhile/core'
import { collect } from '@meanwhile/core/testing'
import { played } from '@meanwhile/tests/clock'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { accounts } from '../test/accounts.ts'
import { timeOf } from '../test/clock.ts'
import { library, page } from '../test/library.ts'
import { bare, outline, toolOutline } from '../test/outline.ts'
import { retrying } from '../test/retrying.ts'
import { type Moment, sayDone, tellingModel } from '../test/telling-model.ts'
import { after, workshop } from '../test/workshop.ts'
import { eagerTools, type Policy } from './index.ts'

const unhandled = unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

/** A call of `read`, 100 ms between its deltas, sealed with the last one; the response ends 100 ms later. */
function reading(deltas: readonly string[], { id = 'c1', final }: { id?: string; final?: string } = {}): Moment[] {
  const end = deltas.length * 100
  return [
    [0, (to) => to.call(0, { id, name: 'read' })],
    ...deltas.map((delta, index): Moment => [(index + 1) * 100, (to) => to.call(0, { delta })]),
    [end, (to) => to.seal(0, final)],
    [end + 100, (to) => to.finish('tool-calls')],
  ]
}

const DELTAS = ['{"path":"a', '.txt"', ',"from":', '7}']

interface Options {
  readonly responses?: readonly (readonly Moment[])[]
  readonly middleware?: readonly Middleware[]
  readonly tools?: readonly Tool[]
  readonly eager?: boolean
  readonly policy?: Policy
  readonly ms?: number
  readonly input?: typeof page
  readonly toolConcurrency?: number
  readonly maxSteps?: number
  readonly prepareInput?: (input: unknown) => unknown
}

/** A run in which the model calls `read`, and its result. */
async function ran(options: Options = {}) {
  const {
    responses = [reading(DELTAS)],
    middleware = [],
    tools = [],
    eager = true,
    policy,
    ms,
    input,
    ...rest
  } = options
  const { log, contexts, read } = library({ ...(ms !== undefined && { ms }), ...(input && { input }) })
  const agent = createAgent({
    ...rest,
    model: tellingModel([...responses, sayDone]),
    tools: [read, ...tools],
    middleware: [...middleware, ...(eager ? [eagerTools(policy ? { policy } : {})] : [])],
  })
  const { events, result, error } = await played(collect(agent.stream('Go')))
  return { events, result, error, log, contexts, lines: toolOutline(events), results: resultsOf(result?.messages) }
}

const resultsOf = (messages: readonly Message[] = []) =>
  messages.flatMap((message) =>
    message.role === 'tool' ? [[message.callId, ...message.content.map((part) => 'text' in part && part.text)]] : [],
  )

const told = (events: readonly AgentEvent[]) => {
  const { calls, others } = accounts(events)
  return { calls, others }
}

test('a tool with needs starts when the needed members are complete, has them at once and awaits the others (H31)', async () => {
  const { log, results } = await ran()
  expect(log).toEqual(['200 open a.txt', '400 read a.txt 7'])
  expect(results).toEqual([['c1', 'a.txt from 7']])
})

test('a call that has started gets the rest as soon as it has closed, even if the breaker has opened meanwhile (H31, H35)', async () => {
  const look = workshop().make('look', 'read')
  const moments: Moment[] = [
    [0, (to) => to.call(0, { id: 'c1', name: 'look', delta: '{"n":1}' })],
    [0, (to) => to.call(1, { id: 'c2', name: 'look', delta: '{"n":2}' })],
    [0, (to) => to.call(2, { id: 'c3', name: 'read' })],
    [200, (to) => to.call(2, { delta: '{"path":"a.txt"' })],
    [300, (to) => to.seal(0, '{"n":8}')],
    [300, (to) => to.seal(1, '{"n":9}')],
    [400, (to) => to.call(2, { delta: ',"from":7}' })],
    [500, (to) => to.seal(2)],
    [600, (to) => to.finish('tool-calls')],
  ]
  const { log, result } = await ran({ responses: [moments], tools: [look] })
  expect(result?.warnings.map(({ code }) => code)).toEqual(['breaker', 'breaker'])
  expect(log).toEqual(['200 open a.txt', '400 read a.txt 7'])
})

test('it receives the needed members and the rest in the same way when it does not start early (H31)', async () => {
  const { log, contexts } = await ran({ eager: false })
  expect(log).toEqual(['500 open a.txt', '500 read a.txt 7'])
  const early = (await ran()).contexts
  expect(contexts.map(Object.keys)).toEqual(early.map(Object.keys))
  expect(await Promise.all([...contexts, ...early].map(({ rest }) => rest))).toEqual([
    { path: 'a.txt', from: 7 },
    { path: 'a.txt', from: 7 },
  ])
})

test('a step is shorter by the tool’s work before it needs the rest (H31, H29)', async () => {
  const time = (middleware: Middleware[]) =>
    timeOf(
      createAgent({
        model: tellingModel([reading(DELTAS), sayDone]),
        tools: [library({ ms: 250 }).read],
        middleware,
      }).run('Go'),
    )
  expect(await time([eagerTools()])).toBe(500)
  expect(await time([])).toBe(750)
})

test('the reader gets its start event when its input is complete, as for any early call (H31, H16, B5, B7, CC7)', async () => {
  const { events } = await ran()
  const call = { type: 'tool-call', id: 'c1', name: 'read', input: { path: 'a.txt', from: 7 } }
  const message = {
    role: 'tool',
    callId: 'c1',
    name: 'read',
    content: [{ type: 'text', text: 'a.txt from 7' }],
    output: 'a.txt from 7',
  }
  const step = 1
  const ofCall = { callId: 'c1', toolName: 'read' }
  const model = { step, attempt: 1 }
  const answer = { role: 'assistant', content: [call], finishReason: 'tool-calls' }
  expect(bare(events).slice(1, -6)).toEqual([
    { type: 'step-start', step },
    { type: 'attempt-start', ...model, model: { provider: 'telling', id: 'telling-1' } },
    { type: 'tool-input-start', ...model, id: 'c1', name: 'read' },
    { type: 'tool-input-delta', ...model, id: 'c1', delta: '{"path":"a' },
    { type: 'tool-input-delta', ...model, id: 'c1', delta: '.txt"' },
    { type: 'tool-input-ready', ...model, id: 'c1', name: 'read', input: { path: 'a.txt' } },
    { type: 'tool-input-delta', ...model, id: 'c1', delta: ',"from":' },
    { type: 'tool-input-delta', ...model, id: 'c1', delta: '7}' },
    { type: 'tool-input-closed', ...model, call },
    { type: 'tool-start', step, ...ofCall, call, provisional: true },
    { type: 'tool-entered', step, ...ofCall, attempt: 1, provisional: true },
    { type: 'tool-settled', step, ...ofCall, provisional: true },
    { type: 'tool-call', ...model, call },
    { type: 'message', step, message: answer },
    { type: 'tool-committed', step, ...ofCall },
    { type: 'tool-end', step, ...ofCall, message },
    { type: 'message', step, message },
    { type: 'step-end', ...model, messages: [answer, message] },
  ])
  expect(told(events)).toEqual(told((await ran({ eager: false })).events))
})

test('a number is complete only with the next character (H31)', async () => {
  const started: string[] = []
  const begin = performance.now()
  const nth = tool({
    name: 'nth',
    description: 'The n-th.',
    input: z.object({ n: z.number(), of: z.string() }),
    effect: 'read',
    needs: ['n'],
    execute: async ({ n }, { rest }) => {
      started.push(`${Math.round(performance.now() - begin)} ${n}`)
      return `${n} of ${(await rest).of}`
    },
  })
  const deltas = ['{"n":1', '0', ',"of":"x', 'y"}']
  const response: Moment[] = [
    [0, (to) => to.call(0, { id: 'c1', name: 'nth' })],
    ...deltas.map((delta, index): Moment => [(index + 1) * 100, (to) => to.call(0, { delta })]),
    [500, (to) => to.finish('tool-calls')],
  ]
  const { results } = await ran({ responses: [response], tools: [nth as Tool] })
  expect(started).toEqual(['300 10'])
  expect(results).toEqual([['c1', '10 of xy']])
})

test.each([
  ['duplicate keys before it was ready', ['{"from":1,"from":7,', '"path":"a.txt"', ' }'], '300 open a.txt'],
  ['a needed member that comes last', ['{"from":7,', '"path":', '"a.txt"}'], '300 open a.txt'],
])('a call with %s starts when it closes (H32)', async (_, deltas, first) => {
  const { log, results } = await ran({ responses: [reading(deltas)] })
  expect(log).toEqual([first, '300 read a.txt 7'])
  expect(results).toEqual([['c1', 'a.txt from 7']])
})

test('a missing needed member starts nothing early, and the call gets its ordinary error result (H32)', async () => {
  const responses = [reading(['{"from":7', ',"other":1}'])]
  const { log, results, events } = await ran({ responses })
  expect(log).toEqual([])
  expect(results).toEqual([['c1', expect.stringContaining('invalid input for read')]])
  expect(told(events)).toEqual(told((await ran({ responses, eager: false })).events))
})

test.each([
  ['when the call is sealed', DELTAS, '{"path":"b.txt","from":7}', '400 closed', '400'],
  ['by a second key', ['{"path":"a.txt"', ',"from":7,', '"path":"b.txt"}'], undefined, '300 closed', '300'],
])('a needed member that changes %s discards; the call runs once with the final input (H32, H8)', async (...row) => {
  const [, deltas, final, closed, again] = row
  const responses = [reading(deltas, final === undefined ? {} : { final })]
  const { log, lines, results, events } = await ran({ responses, ms: 1_000 })
  expect(log.map((line) => line.replace(/:.*/, ''))).toEqual([
    expect.stringMatching(/^[12]00 open a\.txt$/),
    `${closed} a.txt`,
    `${again} open b.txt`,
    `${Number(again) + 1_000} read b.txt 7`,
  ])
  expect(lines).toEqual([
    'tool-start c1 provisional',
    'tool-discarded c1 arguments_changed',
    'tool-start c1 provisional',
    'tool-committed c1',
    'tool-end c1',
  ])
  expect(results).toEqual([['c1', 'b.txt from 7']])
  expect(told(events)).toEqual(told((await ran({ responses, eager: false, ms: 1_000 })).events))
})

test('whole input that fails the schema discards, and the call gets its ordinary error result (H32)', async () => {
  const responses = [reading(['{"path":"a.txt"', ',"from":"seven"}'])]
  for (const ms of [0, 1_000]) {
    const { log, lines, results, events } = await ran({ responses, ms })
    expect(log.map((line) => line.replace(/:.*/, ''))).toEqual(['100 open a.txt', '200 closed a.txt'])
    expect(lines.filter((line) => !line.startsWith('tool-start'))).toEqual([
      'tool-discarded c1 arguments_changed',
      'tool-end c1 error',
    ])
    expect(results).toEqual([['c1', expect.stringContaining('invalid input for read: from')]])
    expect(told(events)).toEqual(told((await ran({ responses, eager: false, ms })).events))
  }
})

test('a result that was there before the rest counts only if the whole input is valid (H32)', async () => {
  const quick = tool({
    name: 'read',
    description: 'Needs no rest.',
    input: page,
    effect: 'read',
    needs: ['path'],
    execute: ({ path }) => `all of ${path}`,
  })
  const results = async (last: string) => {
    const model = tellingModel([reading(['{"path":"a.txt"', `,"from":${last}}`]), sayDone])
    const agent = createAgent({ model, tools: [quick as Tool], middleware: [eagerTools()] })
    return resultsOf((await played(agent.run('Go'))).messages)
  }
  expect(await results('7')).toEqual([['c1', 'all of a.txt']])
  expect(await results('"7"')).toEqual([['c1', expect.stringContaining('invalid input')]])
})

test('needed members that the schema rejects start nothing, also if it can only check the whole (H32, H5)', async () => {
  const strict = page.refine(({ path }) => path !== 'a.txt', { path: ['path'] })
  const short = page.extend({ path: z.string().max(2) })
  expect((await ran({ input: short })).log).toEqual([])
  // A check of the whole input is impossible before the input is complete.
  expect((await ran({ input: strict })).log[0]).toBe('200 open a.txt')
  const vague: typeof page = Object.create(page, {
    '~standard': {
      value: {
        ...page['~standard'],
        validate: (value: object) => ('from' in value ? { value } : { issues: [{ message: 'something is missing' }] }),
      },
    },
  })
  expect((await ran({ input: vague })).log[0]).toBe('400 open a.txt')
})

test('a call whose needed member the schema changes is made again, with the changed value (H32)', async () => {
  const trimmed = page.extend({ path: z.string().toUpperCase() })
  const { log, results, lines } = await ran({ input: trimmed })
  expect(log.map((line) => line.replace(/:.*/, ''))).toEqual([
    '200 open a.txt',
    '400 closed a.txt',
    '500 open A.TXT',
    '500 read A.TXT 7',
  ])
  expect(results).toEqual([['c1', 'A.TXT from 7']])
  expect(lines).toContain('tool-discarded c1 arguments_changed')
})

test('the call is not accepted before a slow schema has finished (H32)', async () => {
  const slow = page.refine(({ from }) => after(300).then(() => from === 7)) as typeof page
  expect((await ran({ input: slow })).log).toEqual(['200 open a.txt', '700 read a.txt 7'])
  const wrong = await ran({ input: slow, responses: [reading(['{"path":"a.txt"', ',"from":8}'])] })
  expect(wrong.results).toEqual([['c1', expect.stringContaining('invalid input')]])
  expect(wrong.lines.at(-1)).toBe('tool-end c1 error')
})

const broken = (deltas: readonly string[], how: 'fails' | 'is cut'): Moment[] => [
  ...reading(deltas).slice(0, -2),
  [
    deltas.length * 100 + 50,
    () => {
      if (how === 'fails') throw new Error('gone')
    },
  ],
]

test.each([
  ['fails', 'stream_error'],
  ['is cut', 'stream_truncated'],
] as const)('the awaited rest rejects when the stream %s, and the call is discarded (H32, H21)', async (how, cause) => {
  for (const ms of [0, 1_000]) {
    const { log, lines, error } = await ran({ responses: [broken(DELTAS.slice(0, 3), how)], ms })
    expect(error).toMatchObject({ name: 'ModelError' })
    expect(log).toEqual(['200 open a.txt', `350 closed a.txt: call c1 was discarded: ${cause}`])
    expect(lines).toEqual(['tool-start c1 provisional', `tool-discarded c1 ${cause}`])
  }
})

test('a response that ends before the call is complete discards it, and so does an abort (H32, H18, H24)', async () => {
  const short = reading(DELTAS.slice(0, 2)).slice(0, -2)
  const length = await ran({ responses: [[...short, [300, (to) => to.finish('length')]]] })
  expect(length.lines).toEqual(['tool-start c1 provisional', 'tool-discarded c1 stream_truncated', 'tool-end c1 error'])

  const { log, read } = library({ ms: 1_000 })
  const agent = createAgent({ model: tellingModel([reading(DELTAS)]), tools: [read], middleware: [eagerTools()] })
  const controller = new AbortController()
  setTimeout(() => controller.abort(new Error('enough')), 250)
  const collected = collect(agent.stream('Go', { signal: controller.signal }))
  const { events, error } = await played(collected)
  expect(error).toMatchObject({ name: 'AbortError' })
  expect(log.map((line) => line.replace(/ [^ ]+:.*/, ''))).toEqual(['200 open a.txt', '250 closed'])
  expect(toolOutline(events)).toContain('tool-discarded c1 run_aborted')
})

test('a failed attempt keeps no call with incomplete input; the next attempt makes it (H32, H22)', async () => {
  const { log, results, lines } = await ran({
    responses: [reading(DELTAS.slice(0, 3)).slice(0, -2), reading(DELTAS, { id: 'd1' })],
    middleware: [retrying()],
  })
  expect(log.map((line) => line.replace(/:.*/, ''))).toEqual([
    '200 open a.txt',
    '300 closed a.txt',
    '500 open a.txt',
    '700 read a.txt 7',
  ])
  expect(results).toEqual([['d1', 'a.txt from 7']])
  expect(lines).toContain('tool-discarded c1 stream_truncated')
})

test('a call that may be one of a failed attempt waits for its whole input, to join it (H31, H22, O4)', async () => {
  const first = reading(DELTAS).slice(0, -1)
  const again = await ran({ responses: [first, reading(DELTAS, { id: 'd1' })], middleware: [retrying()], ms: 2_000 })
  expect(again.log).toEqual(['200 open a.txt', '2200 read a.txt 7'])
  expect(again.lines).toContain('tool-committed d1 started as c1')
  const other = await ran({
    responses: [first, reading([...DELTAS.slice(0, 3), '8}'], { id: 'd1' })],
    middleware: [retrying()],
    ms: 2_000,
  })
  expect(other.log.map((line) => line.replace(/:.*/, ''))).toEqual([
    '200 open a.txt',
    '800 open a.txt',
    '900 closed a.txt',
    '2800 read a.txt 8',
  ])
  expect(other.results).toEqual([['d1', 'a.txt from 8']])
})

test('a call is entered by its id and gets its key when its input is complete (H25)', async () => {
  const keys: string[] = []
  const keyed = tool({
    name: 'read',
    description: 'Tells its key.',
    input: page,
    effect: 'read',
    needs: ['path'],
    async execute(_, context) {
      keys.push(context.idempotencyKey)
      await context.rest
      keys.push(context.idempotencyKey)
    },
  })
  const run = async (middleware: Middleware[]) => {
    const agent = createAgent({ model: tellingModel([reading(DELTAS), sayDone]), tools: [keyed as Tool], middleware })
    const [{ runId } = { runId: '' }] = (await played(collect(agent.stream('Go')))).events
    return keys.splice(0).map((key) => key.replace(runId, ''))
  }
  const [, whole] = await run([])
  expect(whole).not.toContain('c1')
  expect(await run([eagerTools()])).toEqual(['/c1', whole])
})

test('inside a wrapToolCall, or with prepareInput, calls start only with their whole input, and no ready event is sent (H31)', async () => {
  const seen: unknown[] = []
  const judge: Middleware = {
    name: 'judge',
    async *wrapToolCall(call, next) {
      seen.push(call.input)
      return yield* next(call)
    },
  }
  const judged = await ran({ middleware: [judge] })
  expect(judged.log).toEqual(['400 open a.txt', '400 read a.txt 7'])
  expect(seen).toEqual([{ path: 'a.txt', from: 7 }])
  expect(outline(judged.events)).not.toContain('tool-input-ready c1')
  expect((await ran({ prepareInput: (input) => input })).log[0]).toBe('400 open a.txt')
})

test('inside a wrapToolCall that ignores inputs they start with the needed members, and with nothing else (H31)', async () => {
  const seen: unknown[] = []
  const wrap = (change: (input: unknown) => unknown): Middleware => ({
    name: 'wrap',
    ignoresInput: true,
    async *wrapToolCall(call, next) {
      seen.push(call.input)
      return yield* next({ ...call, input: change(call.input) })
    },
  })
  expect((await ran({ middleware: [wrap((input) => input)] })).log).toEqual(['200 open a.txt', '400 read a.txt 7'])
  expect(seen.splice(0)).toEqual([{ path: 'a.txt' }])
  const changing = await ran({ middleware: [wrap((input) => ({ from: 0, ...Object(input), path: 'b.txt' }))] })
  expect(changing.log).toEqual(['400 open b.txt', '400 read b.txt 7'])
})

test('the policy decides about the needed members, and about the whole before the tool gets it (H31, H3)', async () => {
  const asked: unknown[] = []
  const policy =
    (word: 'prefix' | 'closed' | undefined): Policy =>
    ({ input }, { evidence }) => {
      asked.push([evidence, input])
      return evidence === word || (word === 'closed' && evidence === 'sealed') ? 'wait' : undefined
    }
  const free = await ran({ policy: policy(undefined) })
  expect(free.log).toEqual(['200 open a.txt', '400 read a.txt 7'])
  expect(asked.splice(0)).toEqual([
    ['prefix', { path: 'a.txt' }],
    ['closed', { path: 'a.txt', from: 7 }],
  ])
  expect((await ran({ policy: policy('prefix') })).log).toEqual(['400 open a.txt', '400 read a.txt 7'])
  const held = await ran({ policy: policy('closed') })
  expect(held.log).toEqual(['200 open a.txt', '500 read a.txt 7'])
  expect(held.lines).toEqual(['tool-start c1 provisional', 'tool-committed c1', 'tool-end c1'])
})

test('it waits for earlier calls that may write, and does not start in the last step, like any early call (H31, H14, H5)', async () => {
  const { tools } = workshop()
  const behind: Moment[] = [
    [0, (to) => to.call(1, { id: 'w', name: 'send', delta: '{"n":1}' })],
    [0, (to) => to.seal(1)],
    ...reading(DELTAS),
  ]
  expect((await ran({ responses: [behind], tools })).log).toEqual(['500 open a.txt', '500 read a.txt 7'])
  expect((await ran({ maxSteps: 1 })).log).toEqual([])
})

test('with one slot it keeps its place, and waiting for the rest causes no deadlock (H31, A22)', async () => {
  const two: Moment[] = [
    ...reading(DELTAS).slice(0, -1),
    [400, (to) => to.call(1, { id: 'c2', name: 'read', delta: '{"path":"b.txt","from"' })],
    [500, (to) => to.call(1, { delta: ':8}' })],
    [600, (to) => to.finish('tool-calls')],
  ]
  const { log } = await ran({ responses: [two], toolConcurrency: 1, ms: 400 })
  expect(log).toEqual(['200 open a.txt', '600 read a.txt 7', '600 open b.txt', '1000 read b.txt 8'])
})

test('its events while it waits are sent after its start, and as often as without eager tools (H31, H16)', async () => {
  const chatty = tool({
    name: 'read',
    description: 'Tells what it does.',
    input: page,
    effect: 'read',
    needs: ['path'],
    async *execute({ path }, { rest, run }) {
      run?.emit({ name: 'opened', data: path })
      yield { message: 'opened', progress: 0.5 }
      const { from } = await rest
      yield { message: `at ${from}`, progress: 1 }
      return path
    },
  })
  const events = async (middleware: Middleware[]) => {
    const agent = createAgent({ model: tellingModel([reading(DELTAS), sayDone]), tools: [chatty as Tool], middleware })
    return (await played(collect(agent.stream('Go')))).events
  }
  const eager = await events([eagerTools()])
  expect(toolOutline(eager)).toEqual([
    'tool-start c1 provisional',
    'custom opened provisional',
    'tool-progress c1 opened provisional',
    'tool-progress c1 at 7 provisional',
    'tool-committed c1',
    'tool-end c1',
  ])
  expect(told(eager)).toEqual(told(await events([])))
})

test('if a wrap repeats a call which started on its needs, later or at once, each execution is as without eager tools (P4)', async () => {
  const again = (atOnce: boolean): Middleware => ({
    name: 'again',
    ignoresInput: true,
    async *wrapToolCall(call, next) {
      const made = async () => {
        const flow = next(call)
        for (;;) {
          const step = await flow.next()
          if (step.done) return step.value
        }
      }
      const first = made()
      if (!atOnce) await first
      const [one, other] = await Promise.all([first, made()])
      return { ...one, content: [...one.content, ...other.content] }
    },
  })
  const given: [attempt: number, given: object][] = []
  const spoiling = tool({
    name: 'read',
    description: 'Changes what it is given.',
    input: page,
    effect: 'read',
    needs: ['path'],
    async execute(input, { attempt, rest }) {
      given.push([attempt, { ...input }])
      input.path = 'spoilt'
      const whole = await rest
      given.push([attempt, { ...whole }])
      whole.from = 0
      return `${attempt}`
    },
  })
  const made = async (middleware: Middleware[]) => {
    const model = tellingModel([reading(DELTAS), sayDone])
    const { result } = await played(collect(createAgent({ model, tools: [spoiling as Tool], middleware }).stream('Go')))
    return { messages: result?.messages, given: given.splice(0).toSorted(([a], [b]) => a - b) }
  }
  for (const atOnce of [false, true]) {
    const eager = await made([again(atOnce), eagerTools()])
    expect(eager.given).toEqual([
      [1, { path: 'a.txt' }],
      [1, { path: 'a.txt', from: 7 }],
      [2, { path: 'a.txt' }],
      [2, { path: 'a.txt', from: 7 }],
    ])
    expect(eager).toEqual(await made([again(atOnce)]))
  }
})

test('two equal calls of one response run twice, each with its own rest (H31, H11)', async () => {
  const twice: Moment[] = [
    ...reading(DELTAS).slice(0, -1),
    ...DELTAS.map((delta, index): Moment => [500 + index * 100, (to) => to.call(1, { id: 'c2', name: 'read', delta })]),
    [900, (to) => to.finish('tool-calls')],
  ]
  const { log, results } = await ran({ responses: [twice] })
  expect(log).toEqual(['200 open a.txt', '400 read a.txt 7', '600 open a.txt', '800 read a.txt 7'])
  expect(results).toHaveLength(2)
})

/** Arguments as models may write them: members in any order, some twice, missing or wrong, in any pieces. */
const written = fc
  .record({
    members: fc.array(
      fc.constantFrom(
        '"path":"a"',
        '"path" : "b"',
        '"p\\u0061th":"a"',
        '"from":7',
        '"from":8 ',
        '"from":"x"',
        '"path":1',
      ),
      { maxLength: 4 },
    ),
    more: fc.constantFrom('', ' ', 'junk'),
    cuts: fc.array(fc.nat({ max: 60 }), { maxLength: 5 }),
    final: fc.constantFrom(
      undefined,
      undefined,
      '{"path":"a","from":7}',
      '{"from":9,"path":"a"}',
      '{"path":"c","from":7}',
    ),
  })
  .map(({ members, more, cuts, final }) => {
    const text = `{${members.join(',')}}${more}`
    const places = [...new Set(cuts.filter((cut) => cut < text.length))].sort((a, b) => a - b)
    const deltas = [0, ...places].map((from, index) => text.slice(from, places[index])).filter((delta) => delta !== '')
    return { deltas, final }
  })

const endings = fc.constantFrom('tool-calls', 'tool-calls', 'tool-calls', 'length', 'fails', 'cut')

const response = fc
  .record({ calls: fc.array(written, { minLength: 1, maxLength: 2 }), share: fc.constantFrom(1, 1, 0.5), end: endings })
  .map(({ calls, share, end }) => (prefix: string): Moment[] => {
    const tells = calls.flatMap(({ deltas, final }, label): Moment[1][] => [
      (to) => to.call(label, { id: `${prefix}${label}`, name: 'read' }),
      ...deltas.map(
        (delta): Moment[1] =>
          (to) =>
            to.call(label, { delta }),
      ),
      (to) => to.seal(label, final),
    ])
    const said = tells.slice(0, Math.ceil(tells.length * (end === 'tool-calls' ? 1 : share)))
    const last: Moment[1] = (to) => {
      if (end === 'fails') throw new ModelError('gone', { code: 'gone', retryable: true })
      if (end !== 'cut') to.finish(end)
    }
    return [...said, last].map((tell, index) => [index * 10, tell])
  })

test('whatever a model writes, and however it fails, starting on needed members gives the same history, and each extra start is discarded (H31, H32, H16)', async () => {
  const starts = ({ log }: { readonly log: readonly string[] }) => log.filter((line) => line.includes('open')).length
  const ends = ({ events }: { readonly events: readonly AgentEvent[] }) =>
    events.filter(({ type }) => type === 'tool-discarded').length
  await fc.assert(
    fc.asyncProperty(
      fc.array(response, { minLength: 1, maxLength: 3 }),
      fc.constantFrom(0, 25),
      fc.constantFrom(1, Number.POSITIVE_INFINITY),
      fc.boolean(),
      async (made, ms, toolConcurrency, retries) => {
        const options = {
          responses: made.map((response, index) => response(`r${index}c`)),
          ms,
          toolConcurrency,
          middleware: retries ? [retrying()] : [],
        }
        const eager = await ran(options)
        const waiting = await ran({ ...options, eager: false })
        expect(told(eager.events)).toEqual(told(waiting.events))
        expect(eager.result?.messages).toEqual(waiting.result?.messages)
        expect(eager.error).toEqual(waiting.error)
        expect(starts(eager) - starts(waiting)).toBeLessThanOrEqual(ends(eager))
        expect(unhandled).toEqual([])
      },
    ),
    propertyRuns({ small: 60, middle: 500, whole: 20_000 }),
  )
}, 120_000)

test('changes that a policy makes to its call have no effect (P15, H3, H31)', async () => {
  const asked: unknown[] = []
  const policy: Policy = (call, { evidence }) => {
    asked.push([evidence, structuredClone(call.input)])
    for (const handed of [call, call.input as object])
      expect(() => Object.assign(handed, { id: 'mine', path: 'mine.txt', input: {} })).toThrow(TypeError)
    return 'start'
  }
  const undisturbed = await ran()
  const { log, results, result } = await ran({ policy })
  expect([log, results, result?.warnings]).toEqual([undisturbed.log, undisturbed.results, []])
  expect(asked).toEqual([
    ['prefix', { path: 'a.txt' }],
    ['closed', { path: 'a.txt', from: 7 }],
  ])
})
