import { call, cut, fail, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { early, withdrawing } from '../../test/early-calls.ts'
import {
  type AgentRun,
  createAgent,
  interrupt,
  type Middleware,
  type Run,
  runTool,
  type Tool,
  ToolDiscardedError,
  tool,
} from '../index.ts'

// The promises of a run need not be awaited: none causes an unhandled rejection.

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const input = z.object({})
const sideModel = () => scriptedModel([respond(fail())])
const onTheSide = (id: string, name = 'slow') => ({ type: 'tool-call', id, name, input: {} }) as const

const failing = (name: string, ms: number, more: object = {}): Tool =>
  tool({
    name,
    description: name,
    input,
    execute: () => sleep(ms).then(() => Promise.reject(new Error('no'))),
    ...more,
  }) as Tool

/** Takes all promises that a run returns, and awaits none. */
function takeAll(run: Run | undefined, place: string): void {
  if (!run) return
  void run.callTool(onTheSide(`of ${place}`))
  void run.callTool(onTheSide(`of ${place}`))
  void run.callTool({ ...onTheSide(`of ${place}`), input: { other: true } })
  void run.callTool(onTheSide(`unknown of ${place}`, 'nowhere'))
  void run.callModel({ model: sideModel(), messages: [{ role: 'user', content: 'Hm?' }] })
  void run.stood('asked')
  void run.stood('asked')
  void run.stood(`of ${place}`)
  void run.stood('unknown')
}

const careless: Middleware = {
  name: 'careless',
  beforeAgent: (_, run) => takeAll(run, 'beforeAgent'),
  beforeModel: (_, run) => takeAll(run, 'beforeModel'),
  afterModel: (_, run) => takeAll(run, 'afterModel'),
  beforeFinalAnswer: (_, run) => takeAll(run, 'beforeFinalAnswer'),
  async *wrapAgent(setup, next, run) {
    takeAll(run, 'wrapAgent')
    return yield* next(setup)
  },
  async *wrapModel(request, next, run) {
    takeAll(run, 'wrapModel')
    return yield* next(request)
  },
  async *wrapToolCall(one, next, run) {
    if (one.id === 'asked') takeAll(run, 'wrapToolCall')
    return yield* next(one)
  },
}

const ask: Tool = tool({
  name: 'ask',
  description: 'Asks.',
  input,
  effect: 'read',
  async execute(_, { run, callId }) {
    takeAll(run, callId)
    await sleep(30)
  },
}) as Tool

const asked = [call('ask', {}, { id: 'asked' }), call('build', {}, { id: 'built' }), wait(20)]

interface End {
  readonly responses?: readonly ScriptResponse[]
  readonly middleware?: readonly Middleware[]
  readonly act?: (run: AgentRun, controller: AbortController) => unknown
}

const done = respond(say('Done'))

const ends: Readonly<Record<string, End>> = {
  'has its answer': {},
  'withdraws its early calls': { middleware: [withdrawing()] },
  'has a response that breaks off': { responses: [respond(...asked, cut())] },
  'has a response that fails': { responses: [respond(...asked, fail())] },
  'has a hook that throws': { middleware: [{ name: 'throws', afterModel: () => Promise.reject(new Error('no')) }] },
  'is aborted while its model streams': { act: (_, controller) => setTimeout(() => controller.abort(), 10) },
  'is aborted while its tools work': { act: (_, controller) => setTimeout(() => controller.abort(), 25) },
  'is cancelled while its model streams': { act: (run) => setTimeout(() => void run.cancel(), 10) },
  'is cancelled after its model': { act: (run) => void run.cancel({ at: 'after-model' }) },
  'is cancelled after its tools': { act: (run) => void run.cancel({ at: 'after-tools' }) },
  'asks a question': { middleware: [{ name: 'asks', afterModel: () => interrupt('Why?') }] },
  'is left by its reader': { act: (run) => setTimeout(() => void run[Symbol.asyncIterator]().return?.(), 10) },
}

test.each(Object.keys(ends).flatMap((how) => [true, false].map((isEarly) => ({ how, isEarly }))))(
  'a run that $how, with early calls: $isEarly, leaves no rejection unhandled, whatever is not awaited (MA14, K13)',
  async ({ how, isEarly }) => {
    const { responses = [respond(...asked)], middleware = [], act } = ends[how] ?? {}
    const controller = new AbortController()
    const agent = createAgent({
      model: scriptedModel([...responses, done, done]),
      tools: [ask, failing('slow', 15), failing('build', 40, { background: { atEnd: 'detach' } })],
      middleware: [careless, ...middleware, ...(isEarly ? [early] : [])],
      grace: 5,
    })
    // Its result is not awaited either.
    const run = agent.stream('Go', { signal: controller.signal })
    act?.(run, controller)
    void runTool(failing('alone', 5), {}).result
    await vi.advanceTimersByTimeAsync(5_000)
    expect(vi.getTimerCount()).toBe(0)
  },
)

const thrower = {
  get id(): string {
    throw new Error('no id')
  },
}
const cyclic: Record<string, unknown> = {}
cyclic.self = cyclic
const { proxy, revoke } = Proxy.revocable({}, {})
revoke()

const HOSTILE: Readonly<Record<string, unknown>> = {
  undefined: undefined,
  null: null,
  'a number': 7,
  'a symbol': Symbol('no'),
  'an object that throws': thrower,
  'a revoked proxy': proxy,
  'no name': { type: 'tool-call', id: 'a', input: {} },
  'an input that contains itself': { type: 'tool-call', id: 'b', name: 'slow', input: cyclic },
  'an input with a function': { type: 'tool-call', id: 'c', name: 'slow', input: { f: () => 1 } },
  'an input with a bigint': { type: 'tool-call', id: 'd', name: 'slow', input: { n: 1n } },
  'an input that throws': { type: 'tool-call', id: 'e', name: 'slow', input: thrower },
  'an unknown tool': { type: 'tool-call', id: 'f', name: 'nowhere', input: {} },
}

test.each(Object.keys(HOSTILE))(
  'callTool does not throw at %s, while its run goes on and when that is over (MA14, A23)',
  async (what) => {
    let kept: Run | undefined
    const thrown: unknown[] = []
    const given: unknown[] = []
    const callIt = (run: Run | undefined, options?: never) => {
      try {
        given.push(run?.callTool(HOSTILE[what] as never, options))
      } catch (error) {
        thrown.push(error)
      }
    }
    const calling: Middleware = {
      name: 'calling',
      beforeAgent: (_, run) => void (kept = run),
      beforeModel(_, run) {
        callIt(run)
        callIt(run, null as never)
      },
    }
    const running = createAgent({
      model: scriptedModel([done]),
      tools: [failing('slow', 5)],
      middleware: [calling],
    }).run('Go')
    await vi.advanceTimersByTimeAsync(5_000)
    await running
    callIt(kept)
    await vi.advanceTimersByTimeAsync(0)
    expect(thrown).toEqual([])
    expect(given.map((one) => one instanceof Promise)).toEqual([true, true, true])
  },
)

test('any number of waits for the commit of a call, before it and after, all resolve (MA14)', async () => {
  const heard: string[] = []
  const hear = (run: Run | undefined, id: string, who: string) =>
    run?.stood(id).then(
      (stood) => void heard.push(`${who}: ${stood}`),
      (error: Error) => void heard.push(`${who}: ${error instanceof ToolDiscardedError ? 'discarded' : error.message}`),
    )
  const patient = (name: string): Tool =>
    tool({
      name,
      description: name,
      input,
      effect: 'read',
      async execute(_, { run, callId }) {
        void hear(run, callId, `${name} once`)
        await hear(run, callId, `${name} twice`)
      },
    }) as Tool
  const curious: Middleware = {
    name: 'curious',
    async *wrapModel(request, next, run) {
      const message = yield* next(request)
      if (run.step === 1)
        for (const id of ['stays', 'goes']) for (const nth of [1, 2]) void hear(run, id, `wrap ${nth}`)
      return message
    },
    async beforeFinalAnswer(_, run) {
      for (const id of ['stays', 'goes']) await hear(run, id, 'later')
    },
  }
  const model = scriptedModel([respond(call('stays', {}, { id: 'stays' }), call('goes', {}, { id: 'goes' })), done])
  const running = createAgent({
    model,
    tools: [patient('stays'), patient('goes')],
    middleware: [early, curious, withdrawing('goes')],
  }).run('Go')
  await vi.advanceTimersByTimeAsync(5_000)
  await running
  const told = (who: readonly string[], what: string) => who.map((one) => `${one}: ${what}`)
  const wraps = ['wrap 1', 'wrap 2']
  expect(heard.toSorted()).toEqual(
    [
      ...told(['stays once', 'stays twice', ...wraps, 'later'], 'stays'),
      ...told(['goes once', 'goes twice', ...wraps, 'later'], 'discarded'),
    ].toSorted(),
  )
})

test('the same id and input is the same promise in every step and for every caller (MA14, A23)', async () => {
  const promises: unknown[] = []
  const again: Middleware = {
    name: 'again',
    beforeModel: (_, run) => void promises.push(run.callTool(onTheSide('aside', 'quick'))),
    async *wrapToolCall(one, next, run) {
      if (one.id === 'asked') promises.push(run.callTool(onTheSide('aside', 'quick')))
      return yield* next(one)
    },
    afterModel: (_, run) => void promises.push(run.callTool(onTheSide('aside', 'quick'))),
  }
  let executed = 0
  const quick = tool({ name: 'quick', description: 'q', input, execute: () => ++executed }) as Tool
  const model = scriptedModel([respond(call('quick', {}, { id: 'asked' })), respond(call('quick')), done])
  await createAgent({ model, tools: [quick], middleware: [again] }).run('Go')
  expect(promises).toHaveLength(7)
  expect(new Set(promises).size).toBe(1)
  // The side call, and the two that the model has requested.
  expect(executed).toBe(3)
})

test('when a run is over callTool and callModel reject, and the rest does nothing (MA14, D7, K13)', async () => {
  const kept: Run[] = []
  const keeping: Middleware = {
    name: 'keeping',
    beforeAgent: (_, run) => void kept.push(run),
    async *wrapToolCall(one, next, run) {
      kept.push(run)
      return yield* next(one)
    },
  }
  let warmed = 0
  const quick = tool({
    name: 'quick',
    description: 'q',
    input,
    warm: () => ++warmed,
    effect: 'read',
    execute: (_, { run }) => void (run && kept.push(run)),
  }) as Tool
  const model = scriptedModel([respond(call('quick', {}, { id: 'asked' })), done])
  const run = createAgent({ model, tools: [quick], middleware: [keeping] }).stream('Go')
  const events: unknown[] = []
  const reading = (async () => {
    for await (const event of run) events.push(event.type)
  })()
  await vi.advanceTimersByTimeAsync(5_000)
  await reading
  const result = await run.result
  const before = [JSON.stringify(result), events.length]
  const how = (work: Promise<unknown>) =>
    work.then(
      (value) => value,
      (error: Error) => error.name,
    )
  for (const one of kept) {
    one.emit({ name: 'late', data: 1 })
    one.warn({ code: 'late', message: 'late' })
    one.annotate({ late: true })
    one.warm('late', 'quick')
    const asking = one.callModel({ model: scriptedModel([done]), messages: [{ role: 'user', content: 'Hm?' }] })
    expect([
      await how(one.callTool(onTheSide('late', 'quick'))),
      await how(one.callTool(onTheSide('asked', 'quick'))),
      await how(asking),
      await how(one.stood('asked')),
      one.cancelTool('asked'),
      one.toolStatus('asked')?.state,
    ]).toEqual(['TypeError', 'TypeError', 'AbortError', 'asked', false, 'ok'])
  }
  expect(kept).toHaveLength(3)
  expect([run.send('late'), run.cancelTool('asked'), await run.cancel()]).toEqual([false, false, { status: 'ended' }])
  await vi.advanceTimersByTimeAsync(5_000)
  expect(warmed).toBe(0)
  expect([JSON.stringify(result), events.length]).toEqual(before)
})
