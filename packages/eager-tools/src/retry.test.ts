import {
  call,
  collect,
  cut,
  end,
  fail,
  respond,
  type ScriptResponse,
  say,
  scriptedModel,
  wait,
} from '@meanwhile/assemble/testing'
import { type AssistantMessage, createAgent, type Middleware, ModelError, type Tool, tool } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { outline, results, toolOutline } from '../test/outline.ts'
import { retrying } from '../test/retrying.ts'
import { tellingModel } from '../test/telling-model.ts'
import { after, input, workshop } from '../test/workshop.ts'
import { eagerTools } from './index.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const done = respond(say('Done.'))

interface RanOptions {
  readonly tools?: readonly Tool[]
  /** Outside of eagerTools. */
  readonly outer?: readonly Middleware[]
  /** Inside of it. */
  readonly inner?: readonly Middleware[]
  readonly toolConcurrency?: number
}

async function ran(responses: readonly ScriptResponse[], { outer = [], inner = [], tools = [], ...more }: RanOptions) {
  const { log, contexts, tools: standard } = workshop()
  const model = scriptedModel(responses)
  const agent = createAgent({
    model,
    tools: [...standard, ...tools],
    middleware: [...outer, eagerTools(), ...inner],
    ...more,
  })
  const begin = performance.now()
  const collected = collect(agent.stream('Go')).then((all) => ({ ...all, took: Math.round(performance.now() - begin) }))
  const { events, result, error, took } = await played(collected)
  model.assertComplete()
  return { events, result, error, took, log, contexts }
}

/** The retry may be outside or inside of eagerTools. */
const places = (retry: Middleware) => [{ outer: [retry] }, { inner: [retry] }]

const at = (ms: number, name: string, id: string, argument: object) => [
  wait(ms),
  call(name, argument, { id, deltas: 1 }),
]

test('a running call of a failed attempt is joined by the next attempt’s equal call, although its id differs (H22, O4)', async () => {
  for (const place of places(retrying({ waitMs: 100 }))) {
    const { log, events, result } = await ran(
      [
        respond(...at(0, 'look', 'a1', { n: 1, ms: 1_000 }), wait(100), fail()),
        respond(...at(100, 'look', 'b1', { ms: 1e3, n: 1 }), wait(100), say('So.')),
        done,
      ],
      place,
    )
    expect(log).toEqual(['0 look 1'])
    expect(toolOutline(events)).toEqual(['tool-start a1 provisional', 'tool-committed b1 started as a1', 'tool-end b1'])
    expect(results(result?.messages)).toEqual([
      { role: 'tool', callId: 'b1', name: 'look', content: [{ type: 'text', text: 'look 1' }], output: 'look 1' },
    ])
  }
})

test('a settled call of a failed attempt is joined with the id of the accepted attempt (H22, O4)', async () => {
  for (const place of places(retrying({ waitMs: 100 }))) {
    const { log, events, result, error } = await ran(
      [
        respond(...at(0, 'look', 'a1', { n: 1 }), ...at(0, 'put', 'a2', { n: 2 }), wait(100), cut()),
        respond(...at(100, 'look', 'b1', { n: 1 }), ...at(0, 'put', 'b2', { n: 2 }), wait(100), say('So.')),
        done,
      ],
      place,
    )
    expect(error).toBeUndefined()
    expect(log).toEqual(['0 look 1', '0 put 2'])
    expect(toolOutline(events)).toEqual([
      'tool-start a1 provisional',
      'tool-start a2 provisional',
      'tool-committed b1 started as a1',
      'tool-end b1',
      'tool-committed b2 started as a2',
      'tool-end b2',
    ])
    expect(results(result?.messages).map(({ callId, output }) => [callId, output])).toEqual([
      ['b1', 'look 1'],
      ['b2', 'put 2'],
    ])
  }
})

test('a failed call of a failed attempt is joined, too, and not run again (H22, H26)', async () => {
  let runs = 0
  const failing = tool({
    name: 'failing',
    description: 'Fails.',
    input,
    effect: 'read',
    execute: () => {
      throw new Error(`failed ${++runs}`)
    },
  }) as Tool
  const { result } = await ran(
    [
      respond(...at(0, 'failing', 'a1', { n: 1 }), wait(100), fail()),
      respond(...at(0, 'failing', 'b1', { n: 1 }), wait(100), say('So.')),
      done,
    ],
    { outer: [retrying()], tools: [failing] },
  )
  expect(runs).toBe(1)
  expect(results(result?.messages)).toEqual([
    { role: 'tool', callId: 'b1', name: 'failing', content: [{ type: 'text', text: 'failed 1' }], isError: true },
  ])
})

test('an effect that was sealed in a failed attempt exists once, whatever the next attempt’s ids (H22, H26, O4)', async () => {
  const { log, contexts, result } = await ran(
    [
      respond(...at(0, 'put', 'a1', { n: 1, ms: 50 }), wait(10), fail()),
      respond(...at(0, 'put', 'b1', { n: 1, ms: 50 }), wait(10), fail()),
      respond(...at(0, 'put', 'c1', { n: 1, ms: 50 }), wait(10), say('So.')),
      done,
    ],
    { outer: [retrying({ repeats: 2 })] },
  )
  expect(log).toEqual(['0 put 1'])
  expect(contexts).toHaveLength(1)
  expect(results(result?.messages).map(({ callId }) => callId)).toEqual(['c1'])
})

test('calls that no later attempt contains are discarded when the model call has succeeded, and not before (H22)', async () => {
  for (const place of places(retrying({ waitMs: 100 }))) {
    const { log, events } = await ran(
      [
        respond(...at(0, 'look', 'a1', { n: 1, ms: 5_000 }), ...at(0, 'look', 'a2', { n: 2 }), wait(100), fail()),
        respond(...at(100, 'look', 'b1', { n: 3 }), wait(100), say('So.')),
        done,
      ],
      place,
    )
    expect(log).toEqual(['0 look 1', '0 look 2', '300 look 3', '400 look 1 aborted'])
    expect(toolOutline(events)).toEqual([
      'tool-start a1 provisional',
      'tool-start a2 provisional',
      'tool-start b1 provisional',
      'tool-discarded a1 call_withdrawn',
      'tool-discarded a2 call_withdrawn',
      'tool-committed b1',
      'tool-end b1',
    ])
  }
})

test('a retry does not wait for the calls of failed attempts (H22)', async () => {
  const { took } = await ran(
    [
      respond(...at(0, 'look', 'a1', { n: 1, ms: 5_000 }), wait(100), fail()),
      respond(wait(100), say('Nothing to be done.')),
    ],
    { outer: [retrying({ waitMs: 100 })] },
  )
  expect(took).toBe(300)
})

test('equal calls of one response are distinguished by their order, also when they are joined (H22, H25, H11)', async () => {
  const { log, contexts, result, events } = await ran(
    [
      respond(...at(0, 'look', 'a1', { n: 1, ms: 10 }), ...at(0, 'look', 'a2', { n: 1, ms: 10 }), wait(100), fail()),
      respond(
        ...at(0, 'look', 'b1', { n: 1, ms: 10 }),
        ...at(0, 'look', 'b2', { n: 1, ms: 10 }),
        ...at(0, 'look', 'b3', { n: 1, ms: 10 }),
        wait(100),
        say('So.'),
      ),
      done,
    ],
    { outer: [retrying()] },
  )
  expect(log).toEqual(['0 look 1', '0 look 1', '100 look 1'])
  expect(new Set(contexts.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(3)
  expect(results(result?.messages).map(({ callId }) => callId)).toEqual(['b1', 'b2', 'b3'])
  expect(toolOutline(events).filter((line) => line.startsWith('tool-committed'))).toEqual([
    'tool-committed b1 started as a1',
    'tool-committed b2 started as a2',
    'tool-committed b3',
  ])
})

test('the key is the same in whichever attempt a call is made, and is the tool’s idempotencyKey (H25)', async () => {
  const keyOf = async (responses: readonly ScriptResponse[], options: RanOptions) => {
    const { contexts, events } = await ran(responses, options)
    const runId = events[0]?.runId ?? ''
    return contexts.map(({ idempotencyKey }) => idempotencyKey.replace(runId, 'run'))
  }
  const once = [respond(...at(0, 'put', 'x', { n: 1, ms: 2 }), wait(10), say('So.')), done]
  const twice = [
    respond(say('Wait'), fail()),
    respond(call('put', '{ "ms":2, "n":1 }', { id: 'y', deltas: 1 }), wait(10), say('So.')),
    done,
  ]
  const [key] = await keyOf(once, {})
  expect(key).toMatch(/^run\/1\/put\/[\w-]{43}\/0$/)
  expect(await keyOf(twice, { outer: [retrying()] })).toEqual([key])
  expect(await keyOf([respond(call('put', { n: 1, ms: 2 })), done], {})).toEqual([key])
  expect(await keyOf([respond(call('put', { n: 1, ms: 3 })), done], {})).not.toEqual([key])
  const second = [respond(call('look', { n: 1 })), ...once]
  expect(await keyOf(second, {})).toEqual([expect.stringMatching(/^run\/1\/look/), key?.replace('run/1/', 'run/2/')])
})

test('a call of another step is another call, even if it is equal (H25)', async () => {
  const { log } = await ran(
    [
      respond(...at(0, 'look', 'a1', { n: 1 }), wait(100), say('So.')),
      respond(...at(0, 'look', 'b1', { n: 1 }), wait(100), say('So.')),
      done,
    ],
    {},
  )
  expect(log).toEqual(['0 look 1', '100 look 1'])
})

test('an attempt of another model joins, too (H22)', async () => {
  const other = scriptedModel([respond(...at(0, 'look', 'b1', { n: 1, ms: 200 }), wait(100), say('So.'))], {
    id: 'other',
  })
  const failingOver: Middleware = {
    name: 'failing-over',
    async *wrapModel(request, next) {
      try {
        return yield* next(request)
      } catch {
        return yield* next(request.messages.length === 1 ? { ...request, model: other } : request)
      }
    },
  }
  const { log, events } = await ran([respond(...at(0, 'look', 'a1', { n: 1, ms: 200 }), wait(100), fail()), done], {
    outer: [failingOver],
  })
  expect(log).toEqual(['0 look 1'])
  expect(toolOutline(events)).toEqual(['tool-start a1 provisional', 'tool-committed b1 started as a1', 'tool-end b1'])
})

test('an attempt that the wraps reject keeps its calls, like a failed one (H22)', async () => {
  let rejected = 0
  const picky: Middleware = {
    name: 'picky',
    async *wrapModel(request, next) {
      const message = yield* next(request)
      if (message.finishReason !== 'tool-calls' || rejected++ > 0) return message
      return yield* next(request)
    },
  }
  for (const place of places(picky)) {
    rejected = 0
    const { log, events } = await ran(
      [
        respond(...at(0, 'look', 'a1', { n: 1, ms: 200 }), ...at(0, 'look', 'a2', { n: 2 }), wait(100), say('So.')),
        respond(...at(0, 'look', 'b1', { n: 1, ms: 200 }), wait(100), say('So.')),
        done,
      ],
      place,
    )
    expect(log).toEqual(['0 look 1', '0 look 2'])
    expect(toolOutline(events)).toEqual([
      'tool-start a1 provisional',
      'tool-start a2 provisional',
      'tool-discarded a2 call_withdrawn',
      'tool-committed b1 started as a1',
      'tool-end b1',
    ])
  }
})

test('the accepted attempt need not be the last: its calls are joined with its own ids (H22, O4, C13)', async () => {
  for (const outside of [true, false]) {
    const answers: AssistantMessage[] = []
    const firstOfTwo: Middleware = {
      name: 'first-of-two',
      async *wrapModel(request, next) {
        const first = yield* next(request)
        if (first.finishReason !== 'tool-calls') return first
        answers.push(first, yield* next(request))
        return first
      },
    }
    const { log, result, events, error } = await ran(
      [
        respond(...at(0, 'look', 'a1', { n: 1 }), ...at(0, 'look', 'a2', { n: 2 }), wait(100), say('So.')),
        respond(...at(0, 'look', 'b2', { n: 2 }), ...at(0, 'look', 'b3', { n: 3 }), wait(100), say('So.')),
        done,
      ],
      outside ? { outer: [firstOfTwo] } : { inner: [firstOfTwo] },
    )
    expect(error).toBeUndefined()
    expect(log).toEqual(['0 look 1', '0 look 2', '100 look 3'])
    expect(results(result?.messages).map(({ callId, output }) => [callId, output])).toEqual([
      ['a1', 'look 1'],
      ['a2', 'look 2'],
    ])
    expect(toolOutline(events).slice(3)).toEqual([
      'tool-discarded b3 call_withdrawn',
      'tool-committed a1',
      'tool-end a1',
      'tool-committed a2',
      'tool-end a2',
    ])
  }
})

test('when no retry is left, early calls are discarded with the cause of the last failure (H18, H21)', async () => {
  const looks = (...endings: readonly ReturnType<typeof fail | typeof cut>[]) =>
    endings.map((ending, index) => respond(...at(0, 'look', `c${index}`, { n: index, ms: 5_000 }), wait(50), ending))
  for (const [responses, cause] of [
    [looks(fail(), fail()), 'stream_error'],
    [looks(fail(), cut()), 'stream_truncated'],
    [looks(cut(), fail()), 'stream_error'],
  ] as const) {
    const { log, events, error } = await ran(responses, { outer: [retrying()] })
    expect(error).toBeInstanceOf(ModelError)
    expect(log).toEqual(['0 look 0', '50 look 1', '100 look 0 aborted', '100 look 1 aborted'])
    expect(toolOutline(events)).toEqual([
      'tool-start c0 provisional',
      'tool-start c1 provisional',
      `tool-discarded c0 ${cause}`,
      `tool-discarded c1 ${cause}`,
    ])
  }
})

test('a repeat that ends without calls discards all kept calls (H22, H18)', async () => {
  const { log, events, result } = await ran(
    [
      respond(...at(0, 'move', 'a1', { n: 1 }), wait(100), fail()),
      respond(say('Never mind.'), end({ finishReason: 'stop' })),
    ],
    { outer: [retrying()] },
  )
  expect(log).toEqual(['0 move 1', '100 move 1 undone'])
  expect(toolOutline(events)).toEqual(['tool-start a1 provisional', 'tool-discarded a1 call_withdrawn'])
  expect(result?.text).toBe('Never mind.')
})

test('the reader gets the joined call’s progress as it happens, during the failure and the wait (O4, B8)', async () => {
  const working = tool({
    name: 'working',
    description: 'Works.',
    input,
    effect: 'read',
    async *execute() {
      yield { message: 'begun' }
      await after(150)
      yield { message: 'halfway' }
      await after(250)
      yield { message: 'nearly' }
      await after(10)
      return 'worked'
    },
  }) as Tool
  const { events } = await ran(
    [
      respond(...at(0, 'working', 'a1', { n: 1 }), wait(100), fail()),
      respond(wait(50), ...at(50, 'working', 'b1', { n: 1 }), wait(10), say('So.')),
      done,
    ],
    { outer: [retrying({ waitMs: 100 })], tools: [working] },
  )
  const lines = outline(events)
  expect(lines.slice(lines.indexOf('attempt-start 1'), lines.indexOf('step-end'))).toEqual([
    'attempt-start 1',
    'tool-input-start a1',
    'tool-input-delta a1',
    'tool-input-closed a1',
    'tool-start a1 provisional',
    'tool-progress a1 begun provisional',
    'tool-call a1',
    'attempt-failed 1 retry',
    'tool-progress a1 halfway provisional',
    'attempt-start 2',
    'tool-input-start b1',
    'tool-input-delta b1',
    'tool-input-closed b1',
    'tool-call b1',
    'text-delta',
    'tool-committed b1 started as a1',
    'tool-progress b1 nearly',
    'tool-end b1',
  ])
})

test('with one slot a kept call that is not joined releases its slot for accepted calls (H22, H13)', async () => {
  const { log } = await ran(
    [
      respond(...at(0, 'look', 'a1', { n: 1, ms: 5_000 }), wait(100), fail()),
      respond(...at(0, 'look', 'b1', { n: 2, ms: 10 }), wait(100), say('So.')),
      done,
    ],
    { outer: [retrying()], toolConcurrency: 1 },
  )
  expect(log).toEqual(['0 look 1', '200 look 1 aborted', '200 look 2'])
})

test('a call that is equal to a discarded one is made again, and early (H22, H8)', async () => {
  const { log, tools } = workshop()
  const model = tellingModel([
    [
      [0, (to) => to.call(0, { id: 'a1', name: 'look', delta: '{"n":1}' })],
      [100, (to) => to.seal(0, '{"n":2}')],
    ],
    [
      [100, (to) => to.call(0, { id: 'b1', name: 'look', delta: '{"n":1}' })],
      // After one divergence, calls of this tool wait for their seals.
      [100, (to) => to.seal(0)],
      [200, (to) => to.finish('tool-calls')],
    ],
    [
      [0, (to) => to.text('Done.')],
      [0, (to) => to.finish('stop')],
    ],
  ])
  const agent = createAgent({ model, tools, middleware: [retrying(), eagerTools()] })
  await played(agent.run('Go'))
  expect(log).toEqual(['0 look 1', '100 look 2', '200 look 1'])
})

test('a call is joined even if an equal one before it has changed its arguments (H22, H8)', async () => {
  const { log, tools } = workshop()
  const same = '{"n":1,"ms":900}'
  const model = tellingModel([
    [
      [0, (to) => to.call(0, { id: 'a1', name: 'look', delta: same })],
      [0, (to) => to.call(1, { id: 'a2', name: 'look', delta: same })],
      [100, (to) => to.seal(0, '{"n":2}')],
      // Without its end.
    ],
    [
      [0, (to) => to.call(0, { id: 'b1', name: 'look', delta: '{"n":2}' })],
      [0, (to) => to.call(1, { id: 'b2', name: 'look', delta: same })],
      [100, (to) => to.finish('tool-calls')],
    ],
    [
      [0, (to) => to.text('Done.')],
      [0, (to) => to.finish('stop')],
    ],
  ])
  const agent = createAgent({ model, tools, middleware: [retrying(), eagerTools()] })
  const { events } = await played(collect(agent.stream('Go')))
  expect(log).toEqual(['0 look 1', '0 look 1', '100 look 1 aborted', '100 look 2'])
  expect(toolOutline(events).filter((line) => /committed|discarded/.test(line))).toEqual([
    'tool-discarded a1 arguments_changed',
    'tool-committed b1 started as a1',
    'tool-committed b2 started as a2',
  ])
})
