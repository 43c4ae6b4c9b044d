import { collect } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, type Tool, type ToolContext, tool, type WarmContext } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { accounts } from '../test/accounts.ts'
import { retrying } from '../test/retrying.ts'
import { type Moment, sayDone, tellingModel } from '../test/telling-model.ts'
import { after } from '../test/workshop.ts'
import { eagerTools, type Policy } from './index.ts'

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

/** Named at 100 ms, its input complete at 300, the response ends at 400. */
const browsing = (id = 'c1', input = '{"url":"a"}'): Moment[] => [
  [100, (to) => to.call(0, { id, name: 'browse' })],
  [300, (to) => to.call(0, { delta: input })],
  [300, (to) => to.seal(0)],
  [400, (to) => to.finish('tool-calls')],
]

interface Options {
  readonly responses?: readonly (readonly Moment[])[]
  readonly middleware?: readonly Middleware[]
  readonly eager?: boolean
  readonly policy?: Policy
  readonly warm?: Tool['warm']
  readonly execute?: (context: ToolContext) => Promise<unknown>
  readonly maxSteps?: number
  readonly signal?: AbortSignal
}

/** A run in which the model calls `browse`; the times in `log` are relative to the run's start. */
async function ran(options: Options = {}) {
  const { responses = [browsing()], middleware = [], eager = true, policy, signal, ...rest } = options
  const log: string[] = []
  const contexts: WarmContext[] = []
  const begin = performance.now()
  const say = (line: string) => log.push(`${Math.round(performance.now() - begin)} ${line}`)
  const {
    warm = async ({ signal }) => {
      await after(150, signal)
      say('warm')
      return 'a browser'
    },
    execute = async ({ warmed }) => (await warmed) ?? 'a new browser',
    ...more
  } = rest
  const browse = tool({
    name: 'browse',
    description: 'Browses.',
    input: z.object({ url: z.string() }),
    effect: 'read',
    warm(context) {
      contexts.push(context)
      say(`warms ${context.callId}`)
      context.signal.addEventListener('abort', () => say(`drops ${context.callId}`))
      return warm(context)
    },
    async execute({ url }, context) {
      say(`browses ${url}`)
      const browser = await execute(context)
      say(`has ${String(browser)}`)
      return url
    },
  })
  const agent = createAgent({
    ...more,
    model: tellingModel([...responses, sayDone]),
    tools: [browse as Tool],
    middleware: [...middleware, ...(eager ? [eagerTools(policy ? { policy } : {})] : [])],
  })
  const { events, result, error } = await played(collect(agent.stream('Go', signal ? { signal } : {})))
  return { events, result, error, log, contexts }
}

test('a tool warms up when its name is known, without arguments, and its call gets the result (H33)', async () => {
  const { log, contexts } = await ran()
  expect(log).toEqual(['100 warms c1', '250 warm', '300 browses a', '300 has a browser'])
  expect(contexts).toEqual([{ callId: 'c1', signal: expect.any(AbortSignal) }])
  expect(contexts[0]?.signal.aborted).toBe(false)
})

test('without eager tools nothing warms up, and everything else is the same (H33)', async () => {
  const contexts: ToolContext[] = []
  const execute = async (context: ToolContext) => {
    contexts.push(context)
    return (await context.warmed) ?? 'a new browser'
  }
  const { log, events } = await ran({ eager: false, execute })
  expect(log).toEqual(['400 browses a', '400 has a new browser'])
  expect('warmed' in (contexts[0] ?? {})).toBe(false)
  const [eager, waiting] = [accounts((await ran()).events), accounts(events)]
  expect([eager.calls, eager.others]).toEqual([waiting.calls, waiting.others])
})

test('a call waits for its warm-up only if it awaits it (H33)', async () => {
  const warm = async ({ signal }: WarmContext) => after(1_000, signal)
  expect((await ran({ warm, execute: async () => 'none' })).log).toEqual([
    '100 warms c1',
    '300 browses a',
    '300 has none',
    '300 drops c1',
  ])
  expect((await ran({ warm })).log.at(-1)).toBe('1100 has a new browser')
})

test.each([
  ['throws', () => Promise.reject(new Error('no display'))],
  [
    'throws at once',
    () => {
      throw new Error('no display')
    },
  ],
])('a warm-up that %s is a warning, and its call continues without it (H33)', async (_, warm) => {
  for (const execute of [undefined, async () => 'a new browser']) {
    const { log, result } = await ran({ warm, ...(execute && { execute }) })
    expect(log).toEqual(['100 warms c1', '300 browses a', '300 has a new browser'])
    expect(result?.warnings).toEqual([
      { code: 'warm-failed', message: 'warm of browse threw: no display', source: 'eager-tools' },
    ])
  }
})

test('a call that does not start early still has its warm-up (H33)', async () => {
  expect((await ran({ policy: () => 'wait' })).log).toEqual([
    '100 warms c1',
    '250 warm',
    '400 browses a',
    '400 has a browser',
  ])
})

const withdrawing: Middleware = {
  name: 'withdrawing',
  afterModel: ({ messages }) => ({
    messages: [...messages.slice(0, -1), { role: 'assistant', content: [], finishReason: 'tool-calls' }],
  }),
}

test.each<[string, Options, string[]]>([
  ['the stream fails', { responses: [browsing().slice(0, 1)] }, ['100 drops c1']],
  ['its input is invalid', { responses: [browsing('c1', '{"url":1}')] }, ['250 warm', '400 drops c1']],
  [
    'it is removed before it has started',
    { middleware: [withdrawing], policy: () => 'wait' },
    ['250 warm', '400 drops c1'],
  ],
  [
    'its response does not allow calls',
    { responses: [[...browsing().slice(0, 1), [400, (to) => to.finish('content-filter')]]] },
    ['250 warm', '400 drops c1'],
  ],
])('a warm-up is dropped when its call never comes: %s (H33)', async (_, options, dropped) => {
  const { log, result } = await ran(options)
  expect(log).toEqual(['100 warms c1', ...dropped])
  expect(result?.warnings ?? []).toEqual([])
})

test('a warm-up is dropped with its call: discarded, or aborted with the run (H33, H20)', async () => {
  const execute = ({ signal }: ToolContext) => after(1_000, signal).then(() => 'time')
  const discarded = await ran({ middleware: [withdrawing], execute })
  expect(discarded.log).toEqual(['100 warms c1', '250 warm', '300 browses a', '400 drops c1'])
  const settled = await ran({ middleware: [withdrawing], execute: async () => 'time' })
  expect(settled.log.at(-1)).toBe('400 drops c1')
  const controller = new AbortController()
  setTimeout(() => controller.abort(new Error('enough')), 350)
  const aborted = await ran({ execute, signal: controller.signal })
  expect(aborted.log).toEqual(['100 warms c1', '250 warm', '300 browses a', '350 drops c1'])
  const sooner = new AbortController()
  setTimeout(() => sooner.abort(new Error('enough')), 200)
  const { log, error } = await ran({ signal: sooner.signal })
  expect(log).toEqual(['100 warms c1', '200 drops c1'])
  expect(error).toMatchObject({ name: 'AbortError', cause: new Error('enough') })
})

test('a call of a further attempt that joins one does not use its own warm-up (H33, H22)', async () => {
  const { log } = await ran({
    responses: [browsing().slice(0, -1), browsing('d1')],
    middleware: [retrying()],
    execute: async ({ warmed }) => {
      await after(500)
      return warmed
    },
  })
  expect(log).toEqual([
    '100 warms c1',
    '250 warm',
    '300 browses a',
    '400 warms d1',
    '550 warm',
    '700 drops d1',
    '800 has a browser',
  ])
})

test('at most once per call, and not in the last step, whose calls are not made (H33, H5)', async () => {
  const insisting: Middleware = {
    name: 'insisting',
    async *wrapModel(request, next, run) {
      const flow = next(request)
      try {
        for (;;) {
          const step = await flow.next()
          if (step.done) return step.value
          run.warm('c1', 'browse')
          run.warm('c2', 'browse')
          run.warm('c1', 'nobody')
          yield step.value
        }
      } finally {
        await flow.return(undefined as never)
      }
    },
  }
  expect((await ran({ middleware: [insisting] })).log).toEqual([
    '100 warms c1',
    '250 warm',
    '300 browses a',
    '300 has a browser',
  ])
  expect((await ran({ maxSteps: 1 })).log).toEqual([])
})

test('a warm-up that fails after the run is over, or cannot be stopped, has no effect (H33, D7)', async () => {
  const warm = async () => {
    await after(5_000)
    throw new Error('too late')
  }
  const { result, events } = await ran({ warm, execute: async () => 'none' })
  expect(result?.warnings).toEqual([])
  expect(events.at(-1)?.type).toBe('run-end')
})
