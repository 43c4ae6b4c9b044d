import {
  call,
  collect,
  cut,
  end,
  respond,
  type ScriptResponse,
  say,
  scriptedModel,
  wait,
} from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, type Run, type Tool, tool } from '@meanwhile/core'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { eagerTools } from './index.ts'

// What a call really does with its final input decides, and the calls it makes share its outcome.

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const pace = { firstToken: 10, betweenTokens: 10 }
const anything = z.record(z.string(), z.unknown())
let did: string[] = []

interface Options {
  readonly tools: readonly Tool[]
  readonly middleware?: readonly Middleware[]
  readonly prepareInput?: (input: unknown) => unknown
}

async function played(responses: readonly ScriptResponse[], options: Options) {
  did = []
  const model = scriptedModel(responses, { pace })
  const agent = createAgent({
    model,
    grace: 100,
    ...options,
    middleware: [...(options.middleware ?? []), eagerTools()],
  })
  const run = collect(agent.stream('Go.'))
  await vi.runAllTimersAsync()
  return await run
}

const write = tool({
  name: 'write',
  description: 'w',
  input: anything,
  effect: ({ dry }) => (dry ? 'read' : 'external'),
  execute: ({ dry }) => did.push(dry ? 'looked' : 'wrote'),
})

test.each([
  ['prepareInput', { prepareInput: () => ({ dry: false }) }],
  [
    'a wrap',
    {
      middleware: [
        {
          name: 'wet',
          wrapToolCall: (call, next) => next({ ...call, input: { dry: false } }),
        } satisfies Middleware,
      ],
    },
  ],
])(
  'a call that %s gives a stronger effect than it was judged by waits until its model call has succeeded (H2, H3)',
  async (_, options) => {
    const truncated = await played([respond(call('write', { dry: true }), say('a b c'), cut())], {
      tools: [write],
      ...options,
    })
    expect(truncated.error).toMatchObject({ code: 'stream_truncated' })
    expect(did).toEqual([])

    const stood = await played([respond(call('write', { dry: true }), say('a b c')), respond(say('Done.'))], {
      tools: [write],
      ...options,
    })
    expect(stood.result?.text).toBe('Done.')
    expect(did).toEqual(['wrote'])
  },
)

const send = tool({ name: 'send', description: 's', input: anything, execute: () => did.push('sent') })
const ask = tool({
  name: 'ask',
  description: 'a',
  input: anything,
  effect: 'read',
  async execute(_, { run, callId }) {
    did.push('asked')
    const { content } = await (run as Run).callTool({
      type: 'tool-call',
      id: `${callId}-send`,
      name: 'send',
      input: {},
    })
    return JSON.stringify(content)
  },
})

test('an external call made by an early call waits until that call is committed (H2, H39)', async () => {
  const discarded = await played([respond(call('ask'), say('a b c'), end({ finishReason: 'other' }))], {
    tools: [ask, send],
  })
  expect(did).toEqual(['asked'])
  expect(discarded.events.filter(({ type }) => type === 'tool-discarded')).toMatchObject([
    { callId: 'call_1_1-send', cause: 'stream_truncated' },
    { callId: 'call_1_1', cause: 'stream_truncated' },
  ])

  const { result, events } = await played([respond(call('ask'), say('a b c')), respond(say('Done.'))], {
    tools: [ask, send],
  })
  expect(did).toEqual(['asked', 'sent'])
  expect(result?.text).toBe('Done.')
  const told = events.flatMap((event) => ('callId' in event ? [`${event.type} ${event.callId}`] : []))
  expect(told).toEqual([
    'tool-start call_1_1',
    'tool-entered call_1_1',
    'tool-start call_1_1-send',
    'tool-committed call_1_1',
    'tool-committed call_1_1-send',
    'tool-entered call_1_1-send',
    'tool-end call_1_1-send',
    'tool-end call_1_1',
  ])
})

test('a reversible effect without compensate counts as external (A2, H2)', async () => {
  const odd = tool({
    name: 'odd',
    description: 'o',
    input: anything,
    effect: () => 'reversible',
    execute: () => did.push('did'),
  })
  await played([respond(call('odd'), say('a b c'), cut())], { tools: [odd] })
  expect(did).toEqual([])
})

test('a discarded reversible call that succeeds after it was abandoned is still undone, and there is a warning (H23)', async () => {
  const slow = tool({
    name: 'slow',
    description: 's',
    input: anything,
    effect: 'reversible',
    execute: () => new Promise<string>((resolve) => setTimeout(() => resolve('booked'), 5_000)),
    compensate: (_, output) => void did.push(`undid ${output}`),
  })
  const { result } = await played([respond(call('slow'), say('a'), end({ finishReason: 'other' }))], { tools: [slow] })
  expect(result?.abandoned).toEqual(['call_1_1'])
  expect(result?.warnings).toMatchObject([
    { code: 'compensation-failed', message: expect.stringContaining('still running') },
  ])
  expect(did).toEqual(['undid booked'])
})

test('a slow input check starts nothing of an attempt that a wrap has abandoned (G11, C15)', async () => {
  const careful = tool({
    name: 'careful',
    description: 'c',
    input: anything.refine((input) => new Promise((resolve) => setTimeout(() => resolve(input !== undefined), 100))),
    effect: 'read',
    execute: () => did.push('started'),
  })
  const leaves: Middleware = {
    name: 'leaves',
    async *wrapModel(request, next, run) {
      if (run.step > 1) return yield* next(request)
      for await (const event of next(request)) if (event.type === 'text-delta') break
      await new Promise((resolve) => setTimeout(resolve, 500))
      return yield* next(request)
    },
  }
  const responses = [respond(call('careful'), say('a b c'), wait(1_000)), respond(say('Done.'))]
  const { result } = await played(responses, { tools: [careful], middleware: [leaves] })
  expect(result?.text).toBe('Done.')
  expect(did).toEqual([])
})

test('input that is not valid JSON makes callTool reject, not throw (A23)', async () => {
  let thrown: unknown
  let rejected: unknown
  const odd: Middleware = {
    name: 'odd',
    async beforeModel(_, run) {
      try {
        await run.callTool({ type: 'tool-call', id: 'big', name: 'send', input: { n: 1n } }).catch((error: unknown) => {
          rejected = error
        })
      } catch (error) {
        thrown = error
      }
    },
  }
  await played([respond(say('Done.'))], { tools: [send], middleware: [odd] })
  expect(thrown).toBeUndefined()
  expect(rejected).toBeInstanceOf(TypeError)
})
