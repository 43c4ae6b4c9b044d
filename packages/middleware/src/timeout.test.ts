import {
  call,
  collect,
  fail,
  respond,
  type ScriptResponse,
  say,
  scriptedModel,
  wait,
} from '@meanwhile/assemble/testing'
import {
  type AgentEvent,
  createAgent,
  interrupt,
  type Middleware,
  type Model,
  type ModelEvent,
  type Run,
  TimeoutError,
  type Tool,
  type ToolContext,
  textOf,
  tool,
} from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { approve } from './approve.ts'
import { retryModel } from './retry-model.ts'
import { retryTool } from './retry-tool.ts'
import { type TimeoutOptions, timeout } from './timeout.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const retry = (maxRetries = 2) => retryModel({ maxRetries, random: () => 0 })
const hello = respond(say('Hello.'))

interface RanOptions {
  readonly outer?: readonly Middleware[]
  readonly inner?: readonly Middleware[]
  readonly work?: (context: ToolContext) => unknown
  readonly toolConcurrency?: number
}

async function ran(model: Model, limits: TimeoutOptions, { outer = [], inner = [], work, ...rest }: RanOptions = {}) {
  const begin = performance.now()
  const tries: number[] = []
  const tools = [
    tool({
      name: 'work',
      description: 'Works.',
      input: z.object({}),
      effect: 'read',
      execute: (_, context) => {
        tries.push(Math.round(performance.now() - begin))
        return work?.(context)
      },
    }) as Tool,
  ]
  const agent = createAgent({ model, tools, middleware: [...outer, timeout(limits), ...inner], ...rest })
  const collected = collect(agent.stream('Hi')).then((all) => ({ ...all, took: Math.round(performance.now() - begin) }))
  return { ...(await played(collected)), tries, timers: vi.getTimerCount() }
}

const scripted = (...responses: readonly ScriptResponse[]) => scriptedModel(responses)

/** Waits this long, or until it is stopped. */
const sleep =
  (ms: number) =>
  ({ signal }: Pick<ToolContext, 'signal'>): Promise<string> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => resolve('Slept.'), ms)
      signal.addEventListener('abort', () => {
        clearTimeout(timer)
        reject(signal.reason)
      })
    })

const calling = respond(call('work', {}, { id: 'c1' }))

const read = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'tool-end' ? [textOf(event.message)] : []))

test('a model call over its limit is aborted and fails with a retryable TimeoutError (N11)', async () => {
  const model = scripted(respond(say('a'), wait(2_000), say('b')))
  const { error, took, events, timers } = await ran(model, { model: 1_000 })
  expect(error).toBeInstanceOf(TimeoutError)
  expect(error).toMatchObject({ limit: 'model', timeout: 1_000, retryable: true })
  expect(took).toBe(1_000)
  expect(timers).toBe(0)
  expect(events.find(({ type }) => type === 'attempt-failed')).toMatchObject({ attempt: 1, next: 'none', error })
})

test('the limit of a model call is 300 s, that of its silence 60 s, and there are no others (N11)', async () => {
  const silent = await ran(scripted(respond(wait(400_000), say('b'))), {})
  expect([silent.error, silent.took]).toEqual([new TimeoutError('model', 300_000), 300_000])
  const stuck = await ran(scripted(respond(say('a'), wait(400_000), say('b'))), {})
  expect([stuck.error, stuck.took]).toEqual([new TimeoutError('idle', 60_000), 60_000])
  const slow = await ran(scripted(calling, hello), {}, { work: sleep(10 * 60_000) })
  expect(slow.result?.text).toBe('Hello.')
})

test('with retryModel outside, a timeout is retried: each attempt has the whole limit (O17, N11, J2)', async () => {
  const late = respond(wait(2_000), say('Late.'))
  const { result, took } = await ran(
    scripted(late, late, respond(wait(900), say('Hello.'))),
    { model: 1_000 },
    { outer: [retry()] },
  )
  expect(result?.text).toBe('Hello.')
  expect(took).toBe(1_000 + 100 + 1_000 + 200 + 900)
})

test('with retryModel inside, all attempts and their waits share the limit (O17)', async () => {
  const failing = respond(wait(300), fail())
  const { error, took } = await ran(scripted(failing, failing, failing, hello), { model: 1_000 }, { inner: [retry(9)] })
  expect(error).toEqual(new TimeoutError('model', 1_000))
  expect(took).toBe(1_000)
  const waiting = await ran(scripted(failing, hello), { model: 350 }, { inner: [retry(9)] })
  expect(waiting.error).toEqual(new TimeoutError('model', 350))
  expect([waiting.took, waiting.timers]).toEqual([350, 0])
})

/** A model that emits these at these times. */
const timed = (...beats: readonly (readonly [at: number, event: ModelEvent])[]): Model => ({
  provider: 'timed',
  id: 'timed-1',
  async *stream() {
    const begin = performance.now()
    let text = ''
    for (const [at, event] of beats) {
      await new Promise((resolve) => setTimeout(resolve, at - (performance.now() - begin)))
      if ('delta' in event && event.type === 'text-delta') text += event.delta
      yield event
    }
    return { role: 'assistant', content: [{ type: 'text', text }], finishReason: 'stop' }
  },
})

const says = (delta: string) => ({ type: 'text-delta', delta }) as const

test('any event with content ends a silence, an empty delta does not (N10)', async () => {
  const limits = { idle: 100 }
  const steady = [
    says('a'),
    { type: 'reasoning-delta', delta: 'b' },
    { type: 'tool-input-start', id: 'x', name: 'n' },
    says('c'),
  ] as const
  const well = await ran(timed(...steady.map((event, n) => [n * 90, event] as const)), limits)
  expect(well.result?.text).toBe('ac')
  const empty = await ran(timed([0, says('a')], [60, says('')], [90, says('')], [120, says('b')]), limits)
  expect(empty.error).toEqual(new TimeoutError('idle', 100))
  expect([empty.took, empty.timers]).toEqual([100, 0])
})

test('the silence before the first event does not count as idle: the limit of the call applies (N10)', async () => {
  expect((await ran(timed([5_000, says('a')]), { idle: 100 })).result?.text).toBe('a')
})

test('the idle clock stops during tools and waits between attempts (N10)', async () => {
  const { result, took } = await ran(
    scripted(respond(say('a'), fail()), respond(wait(500), say('b'), call('work')), hello),
    { idle: 50 },
    { inner: [retry()], work: sleep(1_000) },
  )
  expect(result?.text).toBe('Hello.')
  expect(took).toBe(100 + 500 + 1_000)
})

test('the idle clock stops while an outer wrap is slow to read the next event (N10)', async () => {
  const slow: Middleware = {
    name: 'slow',
    async *wrapModel(request, next) {
      const flow = next(request)
      for (;;) {
        const step = await flow.next()
        if (step.done) return step.value
        yield step.value
        await new Promise((resolve) => setTimeout(resolve, 1_000))
      }
    },
  }
  const { result } = await ran(
    timed([0, says('a')], [80, says('b')], [1_070, says('c')]),
    { idle: 100 },
    { outer: [slow] },
  )
  expect(result?.text).toBe('abc')
})

test('a tool call over its limit is aborted and gets an error result, and the run continues (N11)', async () => {
  const aborted = vi.fn()
  const { result, events, took } = await ran(
    scripted(calling, hello),
    { tool: 500 },
    {
      work: (context) => {
        context.signal.addEventListener('abort', aborted)
        return sleep(5_000)(context)
      },
    },
  )
  expect(read(events)).toEqual(['work was cut off after its time limit of 500 ms; its effect may have happened'])
  expect(result).toMatchObject({ text: 'Hello.', messages: [{}, {}, { isError: true }, {}] })
  expect(aborted).toHaveBeenCalledTimes(1)
  expect(took).toBe(500)
})

test('a call that exceeds its limit before it had started ends at once, and the model reads that it was not run (N11, C15)', async () => {
  const asked = approve({
    tools: ['work'],
    ask: (_, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
  })
  const { events, result, took, tries, timers } = await ran(scripted(calling, hello), { tool: 50 }, { inner: [asked] })
  expect(read(events)).toEqual(['Not run: work had not started when its time limit of 50 ms ended.'])
  expect(result?.warnings).toEqual([])
  expect([took, tries, timers]).toEqual([50, [], 0])
})

test('if an attempt that had not started follows one that had, the effect of that one may have happened (N11, O17)', async () => {
  let tried = 0
  const slowly: Middleware = {
    name: 'slowly',
    async *wrapToolCall(call, next, run) {
      if (tried++ > 0) await sleep(1_000)(run)
      return yield* next(call)
    },
  }
  const { events, tries } = await ran(
    scripted(calling, hello),
    { tool: 500 },
    { outer: [retryTool({ maxRetries: 1, random: () => 0 })], inner: [slowly], work: sleep(5_000) },
  )
  expect(tries).toEqual([0])
  expect(read(events)[0]).toMatch('its effect may have happened')
})

test('a call that had started according to a checkpoint may have happened, even if it does not start again in time (N11, L20)', async () => {
  const slowly: Middleware = {
    name: 'slowly',
    async *wrapToolCall(call, next, run) {
      if (run.toolStatus(call.id)?.startedBefore) await sleep(1_000)(run)
      return yield* next(call)
    },
  }
  const work = tool({
    name: 'work',
    description: 'Works.',
    input: z.object({}),
    effect: 'read',
    execute: (_, context) => sleep(5_000)(context),
  }) as Tool
  const agent = createAgent({
    model: scripted(calling, hello),
    tools: [work],
    middleware: [timeout({ tool: 500 }), slowly],
  })
  const run = agent.stream('Hi')
  setTimeout(() => void run.cancel({ at: 'now' }), 100)
  const { checkpoint } = await played(run.result)
  const { events } = await played(collect(agent.resume(checkpoint ?? '')))
  expect(read(events)).toEqual(['work was cut off after its time limit of 500 ms; its effect may have happened'])
})

test('a tool call within its limit is unchanged (N11)', async () => {
  const { events, timers } = await ran(scripted(calling, hello), { tool: 500 }, { work: sleep(499) })
  expect(read(events)).toEqual(['Slept.'])
  expect(timers).toBe(0)
})

test('with retryTool outside, a call that took too long is retried, each attempt with the whole limit (O17)', async () => {
  let n = 0
  const { tries, events } = await ran(
    scripted(calling, hello),
    { tool: 500 },
    { outer: [retryTool({ random: () => 0 })], work: (context) => sleep(n++ < 2 ? 5_000 : 400)(context) },
  )
  expect(tries).toEqual([0, 600, 1_300])
  expect(read(events)).toEqual(['Slept.'])
})

test('with retryTool inside, all attempts and their waits share the limit (O17)', async () => {
  const { tries, events, took, timers } = await ran(
    scripted(calling, hello),
    { tool: 500 },
    {
      inner: [retryTool({ random: () => 0, maxRetries: 9 })],
      work: async (context) => {
        await sleep(100)(context)
        throw new Error('no luck')
      },
    },
  )
  expect(tries).toEqual([0, 200])
  expect(read(events)[0]).toMatch('its time limit of 500 ms')
  expect([took, timers]).toEqual([500, 0])
})

test('with one slot a tool that ignores its abort does not delay a further attempt (O17, I9)', async () => {
  let n = 0
  const { tries, result, events } = await ran(
    scripted(calling, hello),
    { tool: 500 },
    {
      outer: [retryTool({ random: () => 0 })],
      work: () => (n++ === 0 ? new Promise(() => undefined) : 'Worked.'),
      toolConcurrency: 1,
    },
  )
  expect(read(events)).toEqual(['Worked.'])
  expect(result?.text).toBe('Hello.')
  // 500 ms of the limit, 1000 of grace, 100 of waiting.
  expect(tries).toEqual([0, 1_600])
})

test('a run over its limit is aborted, its calls are answered, and it fails with TimeoutError (N11)', async () => {
  const { error, took, events, timers } = await ran(scripted(calling, hello), { run: 700 }, { work: sleep(5_000) })
  expect(error).toBeInstanceOf(TimeoutError)
  expect(error).toMatchObject({ limit: 'run', timeout: 700, retryable: false })
  expect((error as TimeoutError).messages?.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
  expect([took, timers]).toEqual([700, 0])
  expect(read(events)).toHaveLength(1)
})

test('the limit of the run applies to all its steps together and aborts everything that is running (N11)', async () => {
  const model = scripted(respond(wait(400), call('work')), respond(say('On and'), wait(400), say('on')))
  const { error, took } = await ran(model, { run: 600 }, { outer: [retry()] })
  expect([error, took]).toEqual([new TimeoutError('run', 600), 600])
  expect((await ran(scripted(respond(wait(500), say('Hello.'))), { run: 501 })).result?.text).toBe('Hello.')
})

/** Yields without ever waiting; a test that could not end it would hang. */
async function* pour<Event, Result>(event: Event, result: Result): AsyncGenerator<Event, Result, undefined> {
  const begin = performance.now()
  while (performance.now() - begin < 2_000) yield event
  return result
}

test('its limits end tools, models and runs that never wait (P9)', async () => {
  vi.useRealTimers()
  const pouring = tool({
    name: 'pour',
    description: 'Never waits.',
    input: z.object({}),
    execute: () => pour({ message: 'on' }, 'escaped'),
  }) as Tool
  const said = { role: 'assistant', content: [{ type: 'text', text: 'escaped' }], finishReason: 'stop' } as const
  const model: Model = { provider: 'own', id: 'own', stream: () => pour({ type: 'text-delta', delta: 'on' }, said) }
  const calls = () => scripted(respond(call('pour')), hello)
  const end = async (model: Model, limits: TimeoutOptions) => {
    const { events, error } = await collect(
      createAgent({ model, tools: [pouring], middleware: [timeout(limits)] }).stream('Hi'),
    )
    return error ?? read(events)
  }
  expect(await end(calls(), { tool: 30 })).toEqual([
    'pour was cut off after its time limit of 30 ms; its effect may have happened',
  ])
  expect(await end(calls(), { run: 30 })).toEqual(new TimeoutError('run', 30))
  expect(await end(model, { model: 30 })).toEqual(new TimeoutError('model', 30))
})

test('what has no limit is not wrapped (N10)', () => {
  const none = Number.POSITIVE_INFINITY
  const wraps = (options?: TimeoutOptions) => Object.keys(timeout(options)).filter((key) => key.startsWith('wrap'))
  expect(wraps({ model: none, idle: none })).toEqual([])
  expect(wraps()).toEqual(['wrapModel'])
  expect(wraps({ run: 1, model: none, idle: none, tool: 1 })).toEqual(['wrapAgent', 'wrapToolCall'])
})

test('a limit that is too long for a timer is a ConfigError naming it', () => {
  for (const option of ['run', 'model', 'idle', 'tool'])
    for (const value of [0, -1, Number.NaN, 2 ** 31, '5'])
      expect(() => timeout({ [option]: value })).toThrow(expect.objectContaining({ name: 'ConfigError', option }))
})

/** Calls a tool again and again, and ignores its signal. */
const endless = async (run: Run) => {
  for (let n = 0; ; n++) await run.callTool({ type: 'tool-call', id: `${run.step} ${n}`, name: 'work', input: {} })
}

test('a model call over its limit fails even if an inner wrap calls tools forever, and another attempt may follow (N11, O17, P9)', async () => {
  const slow = () => new Promise((resolve) => setTimeout(resolve, 5))
  let times = 0
  const inner: Middleware = {
    name: 'inner',
    async *wrapModel(request, next, run) {
      if (++times === 1) await endless(run)
      return yield* next(request)
    },
  }
  const failed = await ran(scripted(hello), { model: 100 }, { inner: [inner], work: slow })
  expect(failed).toMatchObject({ error: { name: 'TimeoutError', limit: 'model' }, took: 105, timers: 0 })
  times = 0
  const tried = await ran(scripted(hello), { model: 100 }, { outer: [retry()], inner: [inner], work: slow })
  expect(tried).toMatchObject({ result: { text: 'Hello.' }, timers: 0 })
  expect(tried.tries.at(-1)).toBeLessThan(110)
})

test('a tool call over its limit fails even if an inner wrap calls tools forever (N11, P9)', async () => {
  const inner: Middleware = {
    name: 'inner',
    async *wrapToolCall(one, next, run) {
      if (one.id === 'c1') await endless(run)
      return yield* next(one)
    },
  }
  const work = () => new Promise((resolve) => setTimeout(resolve, 5))
  const { events, took, timers } = await ran(scripted(calling, hello), { tool: 100 }, { inner: [inner], work })
  expect(read(events).at(-1)).toContain('100 ms')
  expect([took, timers]).toEqual([100, 0])
})

const slowSetup = (name: string, ms: number): Middleware => ({
  name,
  beforeAgent: (_, { signal }) =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, ms)
      signal.addEventListener('abort', () => {
        clearTimeout(timer)
        reject(signal.reason)
      })
    }),
})

test('the limit of a run includes every beforeAgent, before and after it in the list, and aborts one that is running (N11, W12)', async () => {
  for (const sides of [{ outer: [slowSetup('slow', 5_000)] }, { inner: [slowSetup('slow', 5_000)] }]) {
    const { error, took, timers } = await ran(scripted(hello), { run: 100 }, sides)
    expect(error).toEqual(new TimeoutError('run', 100))
    expect(took).toBe(100)
    expect(timers).toBe(0)
  }
  const slowModel = scripted(respond(wait(80), say('Hello.')))
  const later = await ran(slowModel, { run: 100 }, { outer: [slowSetup('slow', 60)] })
  expect(later).toMatchObject({ error: new TimeoutError('run', 100), took: 100 })
  const within = await ran(scripted(hello), { run: 100 }, { outer: [slowSetup('slow', 60)] })
  expect(within).toMatchObject({ result: { text: 'Hello.' }, timers: 0 })
})

test('the time of the set-up counts once, also if a run is resumed or its steps run again (N12, W12)', async () => {
  let asks = true
  const asking: Middleware = {
    name: 'asking',
    beforeFinalAnswer: () => {
      if (asks) throw interrupt('Go on?')
    },
  }
  const twice: Middleware = {
    name: 'twice',
    async *wrapAgent(setup, next) {
      yield* next(setup)
      return yield* next(setup)
    },
  }
  const agentOf = (limit: number, outer: readonly Middleware[] = []) =>
    createAgent({
      model: scripted(hello, hello),
      middleware: [...outer, slowSetup('slow', 60), timeout({ run: limit }), asking],
    })
  const { checkpoint, interrupts = [] } = await played(agentOf(100).run('Hi'))
  asks = false
  const answers = { [interrupts[0]?.id ?? '']: 'Yes.' }
  await expect(played(agentOf(100).resume(checkpoint ?? '', answers).result)).rejects.toEqual(
    new TimeoutError('run', 100),
  )
  expect((await played(agentOf(130).resume(checkpoint ?? '', answers).result)).text).toBe('Hello.')
  expect((await played(agentOf(100, [twice]).run('Hi'))).text).toBe('Hello.')
})

test('tool limits the work of a background call; a shorter timeout of its own remains (N11, W12)', async () => {
  const started: string[] = []
  const slow = (name: string, own?: number) =>
    tool({
      name,
      description: 'Works.',
      input: z.object({}),
      background: true,
      ...(own !== undefined && { timeout: own }),
      execute: (_, { signal }) => {
        started.push(name)
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      },
    }) as Tool
  const agent = createAgent({
    model: scripted(respond(call('plain'), call('short'), call('long')), hello, hello),
    tools: [slow('plain'), slow('short', 50), slow('long', 500)],
    middleware: [timeout({ tool: 100 })],
  })
  const { events } = await played(collect(agent.stream('Hi')))
  const ends = events.flatMap((event) => (event.type === 'background-end' ? [textOf(event.message)] : []))
  const cutOff = (name: string, ms: number) =>
    `${name} was cut off after its time limit of ${ms} ms; its effect may have happened`
  expect(started).toEqual(['plain', 'short', 'long'])
  expect(ends).toEqual([cutOff('short', 50), cutOff('plain', 100), cutOff('long', 100)])
})

test('a background tool with a limit of time keeps its concurrency over several runs (W12, G1)', async () => {
  let running = 0
  let most = 0
  const one = tool({
    name: 'one',
    description: 'Works.',
    input: z.object({}),
    background: true,
    concurrency: 1,
    async execute() {
      most = Math.max(most, ++running)
      await new Promise((resolve) => setTimeout(resolve, 20))
      running--
    },
  }) as Tool
  const run = () =>
    createAgent({
      model: scripted(respond(call('one')), hello, hello),
      tools: [one],
      middleware: [timeout({ tool: 100 })],
    }).run('Hi')
  await played(Promise.all([run(), run()]))
  expect(most).toBe(1)
})
