import { assemble } from '@meanwhile/assemble'
import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  createAgent,
  type Middleware,
  type Model,
  type ModelEvent,
  map,
  type Progress,
  type Run,
  runTool,
  settle,
  type Tool,
  textOf,
  tool,
} from '../index.ts'

/** A test could not end a run that blocks the event loop: the work ends by itself, after this many ms or events. */
const ESCAPES = 30_000
const MOST = 3_000_000

/** How many flows have begun: on a busy machine a real time limit may end one before that. Each that has must be closed. */
let begun = 0
let closed = 0
/** What happens 20 ms after the next flow has begun to pour. */
let whenPouring: (() => void)[] = []
beforeEach(() => {
  begun = 0
  closed = 0
  whenPouring = []
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

/** Yields without ever waiting. */
async function* pour<Event, Result>(event: Event, result: Result): AsyncGenerator<Event, Result, undefined> {
  const begin = performance.now()
  begun++
  try {
    for (const act of whenPouring.splice(0)) after(20, act)
    for (let n = 0; n < MOST && performance.now() - begin < ESCAPES; n++) {
      yield event
    }
    return result
  } finally {
    closed++
  }
}

function pouring(more: Omit<Partial<Tool>, 'needs'> = {}): Tool {
  return tool({
    name: 'pour',
    description: 'Never waits',
    input: z.object({}),
    execute: () => pour<Progress, unknown>({ message: 'on' }, 'escaped'),
    ...more,
  }) as Tool
}

const said = { role: 'assistant', content: [{ type: 'text', text: 'escaped' }], finishReason: 'stop' } as const
const delta: ModelEvent = { type: 'text-delta', delta: 'on' }
const pouringModel: Model = { provider: 'own', id: 'own-1', stream: () => pour(delta, said) }

function asking(...ids: string[]): Model {
  return scriptedModel([respond(...ids.map((id) => call('pour', {}, { id }))), respond(say('Done'))])
}

/** Calls `act` after this many milliseconds, if the event loop gets to it. */
function after(ms: number, act: () => void): void {
  setTimeout(act, ms)
}

/** Calls `act` in the middle of the next flow that never waits, however long the run takes to begin it. */
function whilePouring(act: () => void): void {
  whenPouring.push(act)
}

function abortedWhilePouring(): AbortSignal {
  const controller = new AbortController()
  whilePouring(() => controller.abort())
  return controller.signal
}

test('a time limit ends a generator tool that never waits (P9)', async () => {
  const run = createAgent({ model: asking('a'), tools: [pouring({ timeout: 60 })] }).stream('Go')
  const { messages, text } = await run.result
  expect(messages.map(textOf)).toContain('pour was cut off after its time limit of 60 ms; its effect may have happened')
  expect(text).toBe('Done')
  expect(closed).toBe(begun)
})

test('an abort of the run, a cancel now and cancelTool end one (P9)', async () => {
  const agent = () => createAgent({ model: asking('a'), tools: [pouring()] })
  await expect(agent().run('Go', { signal: abortedWhilePouring() })).rejects.toMatchObject({ name: 'AbortError' })
  expect(closed).toBe(1)

  const stopped = agent().stream('Go')
  whilePouring(() => void stopped.cancel())
  expect(await stopped.result).toMatchObject({ status: 'cancelled' })
  expect(closed).toBe(2)

  const goesOn = agent().stream('Go')
  whilePouring(() => goesOn.cancelTool('a'))
  const { messages, text } = await goesOn.result
  expect(messages.map(textOf)).toContain(
    'The call was cancelled while it was running. It was cut off, and its effect may have happened.',
  )
  expect(text).toBe('Done')
  expect(closed).toBe(3)
})

test('a time limit ends a tool that makes one short call after another (P9)', async () => {
  const quick = tool({ name: 'quick', description: 'Returns at once', input: z.object({}), execute: () => 'so' })
  const begin = performance.now()
  const caller = pouring({
    timeout: 50,
    async execute(_, { run, signal }) {
      for (let n = 0; n < MOST && performance.now() - begin < ESCAPES && !signal.aborted; n++) {
        await run?.callTool({ type: 'tool-call', id: `q${n}`, name: 'quick', input: {} })
      }
      return 'escaped'
    },
  })
  const run = createAgent({ model: asking('a'), tools: [caller, quick] }).stream('Go')
  const { messages } = await run.result
  expect(messages.map(textOf)).toContain('pour was cut off after its time limit of 50 ms; its effect may have happened')
  expect(performance.now() - begin).toBeLessThan(ESCAPES)
})

test.each<[string, (run: Run, n: number) => Promise<unknown>]>([
  ['callTool', (run, n) => run.callTool({ type: 'tool-call', id: `q${n}`, name: 'pour', input: {} })],
  ['callModel', (run) => run.callModel({ messages: [] })],
  ['stood', (run, n) => run.stood(`q${n}`)],
])('a hook that was left and repeatedly asks %s lets the event loop turn (P9)', async (_, ask) => {
  const begin = performance.now()
  const hasEscaped = () => performance.now() - begin > ESCAPES
  let ended = false
  const stubborn: Middleware = {
    name: 'stubborn',
    async beforeModel(_, run) {
      while (!run.signal.aborted) await new Promise((resolve) => setTimeout(resolve, 1))
      for (let n = 0; n < MOST && !hasEscaped() && !ended; n++) await ask(run, n).catch(() => undefined)
    },
  }
  const impatient: Middleware = {
    name: 'impatient',
    async *wrapAgent(setup, next) {
      const late = new Promise<never>((_, reject) => after(20, () => reject(new Error('late'))))
      const flow = next(setup)
      for (;;) {
        const step = await Promise.race([flow.next(), late])
        if (step.done) return step.value
        yield step.value
      }
    },
  }
  const agent = createAgent({ model: asking('a'), tools: [pouring()], grace: 20, middleware: [impatient, stubborn] })
  await expect(agent.run('Go')).rejects.toMatchObject({ message: 'middleware impatient, wrapAgent: threw late' })
  ended = true
  expect(hasEscaped()).toBe(false)
})

test('without a run, a time limit, a signal and a cancel end one (P9)', async () => {
  await expect(runTool(pouring(), {}, { timeout: 20 })).rejects.toMatchObject({ name: 'ToolTimeoutError' })
  await expect(runTool(pouring(), {}, { signal: abortedWhilePouring() })).rejects.toMatchObject({ name: 'AbortError' })
  const run = runTool(pouring(), {})
  whilePouring(() => run.cancel())
  await expect(run).rejects.toMatchObject({ name: 'ToolCancelledError' })
  expect(begun).toBeGreaterThanOrEqual(2)
  expect(closed).toBe(begun)
})

test('a time limit ends the work of a background call that never waits (P9)', async () => {
  const tools = [pouring({ timeout: 20, background: true })]
  const { messages } = await createAgent({
    model: scriptedModel([respond(call('pour')), respond(say('So')), respond(say('Done'))]),
    tools,
  }).run('Go')
  expect(messages.map(textOf).join()).toContain('pour was cut off after its time limit of 20 ms')
  expect(closed).toBe(begun)
})

test('several that never wait run in parallel, and each has its time limit (P9)', async () => {
  const counts = new Map<string, number>()
  const counting = pouring({
    timeout: 500,
    execute: (_, { callId }) =>
      map(pour<Progress, unknown>({ message: 'on' }, 'escaped'), (event) => {
        counts.set(callId, (counts.get(callId) ?? 0) + 1)
        return event
      }),
  })
  const { messages } = await createAgent({ model: asking('a', 'b', 'c'), tools: [counting] }).run('Go')
  expect(messages.map(textOf).filter((text) => text.startsWith('pour was cut off'))).toHaveLength(3)
  expect([...counts.keys()]).toEqual(['a', 'b', 'c'])
  expect(closed).toBe(3)
})

test('an abort ends a model that yields without waiting, in a step and in a side call (P9)', async () => {
  const run = createAgent({ model: pouringModel }).stream('Go', { signal: abortedWhilePouring() })
  await expect(run.result).rejects.toMatchObject({ name: 'AbortError' })
  expect(closed).toBe(1)

  const messages = [{ role: 'user', content: 'And?' }] as const
  const onSide: Middleware = {
    name: 'on-side',
    async beforeModel(_, run) {
      await run.callModel({ messages, model: pouringModel, signal: abortedWhilePouring() }).catch(() => undefined)
    },
  }
  const { text } = await createAgent({ model: scriptedModel([respond(say('Done'))]), middleware: [onSide] }).run('Go')
  expect(text).toBe('Done')
  expect(closed).toBe(2)
})

test('an abort ends a model whose chunks make no events and never wait (P9)', async () => {
  const model: Model = {
    provider: 'own',
    id: 'own-1',
    stream: (request) => assemble(request, pour({}, undefined), () => undefined),
  }
  const run = createAgent({ model }).run('Go', { signal: abortedWhilePouring() })
  await expect(run).rejects.toMatchObject({ name: 'AbortError' })
  await vi.waitFor(() => expect(closed).toBe(1), { timeout: 60_000 })
})

/** Reads a flow to its end and passes none of its events on. */
async function* swallowed<Result>(
  flow: AsyncGenerator<unknown, Result, undefined>,
): AsyncGenerator<never, Result, undefined> {
  for (;;) {
    const step = await flow.next()
    if (step.done) return step.value
  }
}

const custom = { type: 'custom', name: 'on', data: 0 } as const

test.for<readonly [string, Model, Middleware]>([
  [
    'a wrapModel that lets nothing up',
    pouringModel,
    { name: 'w', wrapModel: (request, next) => swallowed(next(request)) },
  ],
  [
    'a wrapToolCall that lets nothing up',
    asking('a'),
    { name: 'w', wrapToolCall: (one, next) => swallowed(next(one)) },
  ],
  ['a wrapModel that pours itself', pouringModel, { name: 'w', wrapModel: () => pour(custom, said) }],
  [
    'a wrapToolCall that pours itself',
    asking('a'),
    { name: 'w', wrapToolCall: (one) => pour(custom, { role: 'tool', callId: one.id, name: one.name, content: [] }) },
  ],
  [
    'a wrapAgent that pours itself',
    asking('a'),
    {
      name: 'w',
      async *wrapAgent(setup, next, run) {
        yield* pour({ ...custom, runId: run.id, source: 'w' }, undefined)
        return yield* next(setup)
      },
    },
  ],
])('an abort ends %s (P9)', async ([, model, middleware]) => {
  const options = { model, tools: [pouring()], middleware: [middleware], grace: 20 }
  const run = createAgent(options).run('Go', { signal: abortedWhilePouring() })
  await expect(run).rejects.toMatchObject({ name: 'AbortError' })
  await vi.waitFor(() => expect(closed).toBe(1), { timeout: 60_000 })
})

test('settle lets the event loop turn (P9)', async () => {
  const flow = pour(1, 'escaped')
  let isStopped = false
  after(20, () => {
    isStopped = true
    flow.return('stopped').catch(() => undefined)
  })
  expect(await settle(flow)).not.toBe('escaped')
  expect(isStopped).toBe(true)
})

test.each([false, true])('under fake timers it ends, too, in the background: %s (P9)', async (background) => {
  vi.useFakeTimers()
  const begin = Date.now()
  const model = scriptedModel([respond(call('pour')), respond(say('So')), respond(say('Done'))])
  const run = createAgent({ model, tools: [pouring({ timeout: 60, background })] }).stream('Go')
  await vi.advanceTimersByTimeAsync(1_000)
  const { messages } = await run.result
  expect(messages.map(textOf).join()).toContain('after its time limit of 60 ms')
  expect([begun, closed]).toEqual([1, 1])
  expect(Date.now() - begin).toBe(1_000)
})

/** As in browsers, where each message is a task. In Node one task takes many messages. */
class Channel {
  readonly port1: { onmessage?: () => void } = {}
  readonly port2: { postMessage(): void } = { postMessage: () => void setImmediate(() => this.port1.onmessage?.()) }
}

test.for<readonly [string, unknown]>([
  ['messages', Channel],
  ['timers', undefined],
])('without setImmediate, %s are turns of the event loop (P9)', async ([by, MessageChannel]) => {
  const { setImmediate } = globalThis
  vi.stubGlobal('setImmediate', undefined)
  vi.stubGlobal('MessageChannel', MessageChannel)
  const { turnIfDue }: typeof import('./event-loop.ts') = await import(/* @vite-ignore */ `./event-loop.ts?${by}`)
  vi.stubGlobal('setImmediate', setImmediate)
  let isOver = false
  after(20, () => {
    isOver = true
  })
  const begin = performance.now()
  while (!isOver && performance.now() - begin < ESCAPES) await turnIfDue()
  expect(isOver).toBe(true)
})
