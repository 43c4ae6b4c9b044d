import {
  call,
  collect,
  end,
  fail,
  respond,
  type ScriptResponse,
  say,
  scriptedModel,
  wait,
} from '@meanwhile/assemble/testing'
import {
  type AssistantMessage,
  createAgent,
  interrupt,
  type Message,
  type Middleware,
  memoryStore,
  TimeoutError,
  type Tool,
  type ToolMessage,
  textOf,
  tool,
  type UserMessage,
} from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { patchToolCalls } from './patch-tool-calls.ts'
import { planTasks } from './plan-tasks.ts'
import { type SummarizeOptions, summarize } from './summarize.ts'

const user = (content: string, origin?: string): UserMessage => ({ role: 'user', content, ...(origin && { origin }) })
const said = (text: string): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  finishReason: 'stop',
})
const calls = (...ids: string[]): AssistantMessage => ({
  role: 'assistant',
  content: ids.map((id) => ({ type: 'tool-call', id, name: 'look', input: { id } })),
  finishReason: 'tool-calls',
})
const result = (callId: string): ToolMessage => ({
  role: 'tool',
  callId,
  name: 'look',
  content: [{ type: 'text', text: `seen ${callId}` }],
})
const step = (id: string) => [calls(id), result(id)]
const folded = (text: string) =>
  user(`Summary of the earlier part of this conversation, which is no longer shown:\n\n${text}`, 'summarize')

/** The history before the model call, and the request to the summarizing model. */
async function summed(
  input: readonly Message[],
  options: SummarizeOptions = {},
  summary: ScriptResponse = respond(say('In short.')),
) {
  const writer = scriptedModel([summary, respond(say('More.'))], { id: 'writer' })
  const model = scriptedModel([respond(say('Done.'))])
  const agent = createAgent({ model, middleware: [summarize({ model: writer, ...options })] })
  const collected = await collect(agent.stream(input))
  return { ...collected, messages: model.requests[0]?.messages, asked: writer.requests, writer }
}

const history = [user('First.'), ...step('a'), user('Second.'), ...step('b'), ...step('c'), ...step('d')]
const always = { at: { messages: 1 }, keep: { userTokens: 0 } }

test('it acts when a given limit is exceeded, and a missing limit never triggers (N26)', async () => {
  const tokens = (n: number) => ({ countTokens: (messages: readonly Message[]) => messages.length * n })
  for (const [options, acts] of [
    [{ at: { messages: 9 }, ...tokens(1_000_000) }, true],
    [{ at: { messages: 10 }, ...tokens(1_000_000) }, false],
    [{ at: { tokens: 99 }, ...tokens(10) }, true],
    [{ at: { tokens: 100 }, ...tokens(10) }, false],
    [{ at: {}, ...tokens(1_000_000) }, false],
    [{ ...tokens(16_000) }, false],
    [{ ...tokens(16_001) }, true],
  ] as const) {
    expect((await summed(history, options)).asked).toHaveLength(acts ? 1 : 0)
  }
})

test('the last steps are kept unchanged, the rest becomes one message, and the run remembers it (N27)', async () => {
  const { messages, result, asked } = await summed(history, always)
  expect(messages).toEqual([folded('In short.'), ...step('c'), ...step('d')])
  expect(result?.messages).toEqual([...(messages ?? []), said('Done.')])
  const [record] = asked[0]?.messages ?? []
  expect(record?.content).toBe(
    [
      '<record>',
      'user: First.\n',
      'call of look: {"id":"a"}\n',
      'result of look: seen a\n',
      'user: Second.\n',
      'call of look: {"id":"b"}\n',
      'result of look: seen b',
      '</record>',
    ].join('\n'),
  )
  expect(asked[0]).toMatchObject({ tools: [], instructions: expect.stringContaining('summary') as string })
})

test('recent user messages are kept unchanged up to the token limit, and none before one that exceeds it (N27)', async () => {
  const options = { ...always, countTokens: (messages: readonly Message[]) => messages.length }
  const words = async (userTokens: number) =>
    (await summed(history, { ...options, keep: { userTokens, steps: 1 } })).messages?.flatMap((message) =>
      message.role === 'user' ? [message] : [],
    )
  expect(await words(0)).toEqual([folded('In short.')])
  expect(await words(1)).toEqual([user('Second.'), folded('In short.')])
  expect(await words(2)).toEqual([user('First.'), user('Second.'), folded('In short.')])
  const long = [user('Short.'), ...step('a'), user('Long '.repeat(99)), ...step('b'), user('Last.'), ...step('c')]
  const { messages } = await summed(long, { at: { messages: 1 }, keep: { steps: 1, userTokens: 10 } })
  expect(messages).toEqual([user('Last.'), folded('In short.'), ...step('c')])
})

test('a user message from core or a middleware does not count as the user’s: it is summarized, too (N27)', async () => {
  const { messages } = await summed([user('Go.'), ...step('a'), user('Better!', 'guard'), ...step('b'), ...step('c')], {
    at: { messages: 1 },
  })
  expect(messages).toEqual([user('Go.'), folded('In short.'), ...step('b'), ...step('c')])
})

test('an older summary is included in the next; by itself it is not summarized again (N27)', async () => {
  const older = [folded('Once upon a time.'), ...history]
  const { asked, messages } = await summed(older, always)
  expect(asked[0]?.messages[0]?.content).toContain('Once upon a time.')
  expect(messages).toEqual([folded('In short.'), ...step('c'), ...step('d')])
  const again = await summed(messages ?? [], always)
  expect(again.asked).toEqual([])
  expect(again.messages).toEqual(messages)
})

test('a call without a result is kept, with everything after it (N27)', async () => {
  let seen: readonly Message[] = []
  const looking: Middleware = {
    name: 'looking',
    beforeModel(state) {
      seen = state.messages
    },
  }
  const open = [user('Go.'), ...step('a'), calls('open'), user('Well?'), ...step('b'), ...step('c')]
  const writer = scriptedModel([respond(say('In short.'))])
  const middleware = [summarize({ ...always, model: writer }), looking]
  const { error } = await collect(createAgent({ model: scriptedModel([]), middleware }).stream(open))
  expect(error).toMatchObject({ name: 'HistoryError', callIds: ['open'] })
  expect(seen).toEqual([folded('In short.'), ...open.slice(3)])
})

test('no call is separated from its result, in whatever order the results are, also if ids repeat (N27, W13)', async () => {
  const id = fc.constantFrom('a', 'b', 'c', 'd')
  const turn = fc
    .uniqueArray(id, { minLength: 1 })
    .chain((ids) =>
      fc.shuffledSubarray(ids, { minLength: ids.length }).map((order) => [calls(...ids), ...order.map(result)]),
    )
  const parts = fc.array(fc.oneof(turn, fc.constant([user('…')])), { minLength: 1, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(parts, fc.integer({ min: 1, max: 3 }), async (parts, steps) => {
      const mixed = [user('Go.'), ...parts.flat()]
      const { messages = [], error } = await summed(mixed, { at: { messages: 1 }, keep: { steps, userTokens: 0 } })
      // Core refuses a history in another order.
      expect(error).toBeUndefined()
      const asked = mixed.filter(({ role }) => role === 'assistant')
      expect(messages.filter(({ role }) => role === 'assistant')).toEqual(asked.slice(-steps))
    }),
    propertyRuns({ small: 16, middle: 24, whole: 5_000 }),
  )
})

test('an empty, cut off or failed summary leaves the history unchanged and causes a warning; the run continues (N28)', async () => {
  for (const [summary, message] of [
    [respond(say(' \n')), 'the summary was empty'],
    [respond(say('In sh'), end({ finishReason: 'length' })), 'the summary ended with length'],
    [respond(say('I must not.'), end({ finishReason: 'content-filter' })), 'the summary ended with content-filter'],
    [respond(fail({ message: 'down' })), expect.stringContaining('down') as string],
    [respond(say('In'), fail({ message: 'down' })), expect.stringContaining('down') as string],
  ] as const) {
    const { messages, result } = await summed(history, always, summary)
    expect(messages).toEqual(history)
    expect(result).toMatchObject({
      text: 'Done.',
      warnings: [{ code: 'summary-failed', message, source: 'summarize' }],
    })
  }
})

test('a summary that takes too long counts as failed (N28)', async () => {
  const limiting: Middleware = {
    name: 'limiting',
    aroundSideCalls: true,
    async *wrapModel(request, next) {
      if (request.messages.some((message) => message.role === 'user' && message.origin === 'summarize'))
        throw new TimeoutError('model', 10)
      return yield* next(request)
    },
  }
  const model = scriptedModel([respond(say('Done.'))])
  const { result } = await collect(createAgent({ model, middleware: [summarize(always), limiting] }).stream(history))
  expect(result).toMatchObject({ text: 'Done.', warnings: [{ code: 'summary-failed', source: 'summarize' }] })
})

test('an abort while it is written ends the run as usual, without a warning (N28)', async () => {
  vi.useFakeTimers()
  try {
    const controller = new AbortController()
    const writer = scriptedModel([respond(wait(1_000), say('In short.'))])
    const agent = createAgent({ model: scriptedModel([]), middleware: [summarize({ ...always, model: writer })] })
    setTimeout(() => controller.abort(), 500)
    const { error, events } = await played(collect(agent.stream(history, { signal: controller.signal })))
    expect(error).toMatchObject({ name: 'AbortError' })
    expect(events.filter(({ type }) => type === 'warning')).toEqual([])
  } finally {
    vi.useRealTimers()
  }
})

test('there is an event when a summary begins, and one with the new history (N29, CC2, CC7)', async () => {
  const { events, messages } = await summed(history, always)
  const told = events.filter(({ type }) => type === 'custom' || type === 'history-replaced')
  expect(told.map(({ runId: _, ...event }) => event)).toEqual([
    { type: 'custom', step: 1, name: 'summary-start', data: { messages: 6 }, source: 'summarize' },
    { type: 'history-replaced', step: 1, messages },
  ])
  const failed = await summed(history, always, respond(fail()))
  expect(failed.events.filter(({ type }) => type === 'history-replaced')).toEqual([])
})

test('without its own model it uses the agent’s; the call is not a step and not part of the answer, and its usage counts (N29)', async () => {
  const usage = { inputTokens: 7, outputTokens: 2 }
  const model = scriptedModel([respond(say('In short.'), end({ usage })), respond(say('Done.'), end({ usage }))])
  const agent = createAgent({ model, instructions: 'Be kind.', middleware: [summarize(always)] })
  const { events, result } = await collect(agent.stream(history))
  expect(result).toMatchObject({ text: 'Done.', steps: 1, usage: { inputTokens: 14, outputTokens: 4 } })
  const deltas = events.flatMap((event) => (event.type === 'text-delta' ? [event.delta] : []))
  expect(deltas.join('')).toBe('Done.')
})

test('after a summary and a resume no started call runs again (O15, N46)', async () => {
  const ran: string[] = []
  const make = (name: string, asks: boolean) =>
    tool({
      name,
      description: name,
      input: z.object({ n: z.number() }),
      execute({ n }, { answers }) {
        if (asks && answers.length === 0) throw interrupt('Well?')
        ran.push(`${name} ${n}`)
        return `${name} ${n}`
      },
    }) as Tool
  const work = (n: number) => respond(call('send', { n }), call('task_create', { subject: `Task ${n}` }))
  const writer = scriptedModel(Array.from({ length: 9 }, (_, n) => respond(say(`Summary ${n + 1}.`))))
  const model = scriptedModel([
    work(1),
    work(2),
    work(3),
    respond(call('send', { n: 1 }), call('ask', { n: 4 })),
    work(1),
    respond(call('task_list')),
    respond(say('Done.')),
  ])
  const agent = createAgent({
    model,
    tools: [make('send', false), make('ask', true)],
    middleware: [summarize({ at: { messages: 3 }, keep: { steps: 1 }, model: writer }), planTasks()],
    checkpoints: memoryStore(),
  })
  const first = await agent.run('Go')
  expect(ran).toEqual(['send 1', 'send 2', 'send 3', 'send 1'])
  const last = await agent.resume(first.checkpoint?.runId ?? '', { [first.interrupts?.[0]?.id ?? '']: null }).result
  expect(ran).toEqual(['send 1', 'send 2', 'send 3', 'send 1', 'ask 4', 'send 1'])
  expect(last.text).toBe('Done.')
  expect(last.messages.filter((message) => message.role === 'user' && message.origin === 'summarize')).toHaveLength(1)
  expect(textOf(last.messages.at(-2) as ToolMessage)).toBe(
    ['1 [pending] Task 1', '2 [pending] Task 2', '3 [pending] Task 3', '4 [pending] Task 1'].join('\n'),
  )
})

test('outside patchToolCalls, which must repair the history first, it is refused (O20)', () => {
  const model = scriptedModel([])
  expect(() => createAgent({ model, middleware: [summarize(), patchToolCalls()] })).toThrow(
    '"patch-tool-calls" must be outside "summarize"',
  )
  expect(() => createAgent({ model, middleware: [patchToolCalls(), summarize()] })).not.toThrow()
})

test('options that are not whole numbers are a ConfigError (A2)', () => {
  for (const [options, option] of [
    [{ at: { tokens: -1 } }, 'at.tokens'],
    [{ at: { messages: 0.5 } }, 'at.messages'],
    [{ keep: { steps: 0 } }, 'keep.steps'],
    [{ keep: { userTokens: Number.NaN } }, 'keep.userTokens'],
  ] as const)
    expect(() => summarize(options)).toThrow(expect.objectContaining({ name: 'ConfigError', option }))
})
