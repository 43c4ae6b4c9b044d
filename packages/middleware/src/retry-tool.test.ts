import { call, collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import {
  AgentError,
  type AgentEvent,
  createAgent,
  type Middleware,
  OutcomeUnknownError,
  type Tool,
  type ToolContext,
  textOf,
  tool,
} from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type RetryToolOptions, retryTool, type ToolAttempt } from './retry-tool.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

interface WorkOptions {
  readonly effect?: Tool['effect']
  readonly failures?: number
  readonly middleware?: readonly Middleware[]
  readonly inner?: readonly Middleware[]
  readonly options?: RetryToolOptions
  readonly input?: unknown
  readonly signal?: AbortSignal
  readonly work?: (context: ToolContext) => unknown
}

/** A run with one call of a tool that fails a number of times, and the times of its attempts. */
async function worked({ failures = 2, effect = 'read', ...rest }: WorkOptions = {}) {
  const begin = performance.now()
  const tries: { readonly at: number; readonly attempt: number; readonly key: string; readonly callId: string }[] = []
  const work = tool({
    name: 'work',
    description: 'Works.',
    input: z.object({ n: z.number() }),
    effect: effect as 'read',
    execute(_, context) {
      const { attempt, idempotencyKey: key, callId } = context
      tries.push({ at: Math.round(performance.now() - begin), attempt, key, callId })
      if (rest.work) return rest.work(context)
      if (tries.length <= failures) throw new Error(`failure ${tries.length}`)
      return 'Worked.'
    },
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('work', rest.input ?? { n: 1 }, { id: 'c1' })), respond(say('Done.'))]),
    tools: [work as Tool],
    middleware: [...(rest.middleware ?? []), retryTool({ random: () => 0, ...rest.options }), ...(rest.inner ?? [])],
  })
  const collected = await played(collect(agent.stream('Go', { ...(rest.signal && { signal: rest.signal }) })))
  return { ...collected, tries, read: resultOf(collected.events), timers: vi.getTimerCount() }
}

const resultOf = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'tool-end' ? [textOf(event.message)] : []))

test('each wait before a further attempt has an event retry-wait (N7, CC7)', async () => {
  const { events } = await worked({ options: { baseDelay: 100 } })
  const ofCall = { callId: 'c1', toolName: 'work' }
  const waits = events.filter(({ type }) => type === 'custom').map(({ runId: _, ...event }) => event)
  const told = { type: 'custom', step: 1, ...ofCall, name: 'retry-wait', source: 'retry-tool' }
  expect(waits).toEqual([
    { ...told, data: { attempt: 1, waitMs: 100 } },
    { ...told, data: { attempt: 2, waitMs: 200 } },
  ])
})

test('a failing execution is repeated: the same id and key, the next attempt, one message (N7)', async () => {
  const { tries, events, result, read } = await worked()
  expect(tries.map(({ at, attempt, callId }) => [at, attempt, callId])).toEqual([
    [0, 1, 'c1'],
    [100, 2, 'c1'],
    [300, 3, 'c1'],
  ])
  expect(new Set(tries.map(({ key }) => key)).size).toBe(1)
  expect(read).toEqual(['Worked.'])
  expect(events.filter(({ type }) => type === 'tool-start')).toHaveLength(1)
  expect(result?.messages.filter(({ role }) => role === 'tool')).toHaveLength(1)
})

test('after the last attempt the model reads the last error and the number of attempts (N9)', async () => {
  const { tries, read, result } = await worked({ failures: 9 })
  expect(tries).toHaveLength(3)
  expect(read).toEqual(['failure 3 (tried 3 times)'])
  expect(result).toMatchObject({ text: 'Done.', messages: [{}, {}, { role: 'tool', isError: true }, {}] })
  expect((await worked({ failures: 9, options: { maxRetries: 0 } })).read).toEqual(['failure 1'])
})

test('by default read and idempotent calls are retried; an effect function receives the checked input (N8)', async () => {
  for (const [effect, count] of [
    ['read', 3],
    ['idempotent', 3],
    ['external', 1],
    [({ n }: { n: number }) => (n === 1 ? 'read' : 'external'), 3],
    [({ n }: { n: number }) => (n === 1 ? 'external' : 'read'), 1],
    [
      () => {
        throw new Error('no effect')
      },
      1,
    ],
  ] as [Tool['effect'], number][]) {
    expect((await worked({ effect })).tries).toHaveLength(count)
  }
})

test('an external tool is retried if it is named, and then no other is (N8)', async () => {
  expect((await worked({ effect: 'external', options: { tools: ['work'] } })).tries).toHaveLength(3)
  expect((await worked({ options: { tools: ['other'], mayBeMissing: true } })).tries).toHaveLength(1)
})

test('invalid input, an unknown tool and an AgentError are not retried, whatever when returns (N8)', async () => {
  const when = vi.fn(() => true)
  const options = { when, tools: ['work'] }
  const invalid = await worked({ input: { n: 'one' }, options })
  expect(invalid.tries).toEqual([])
  expect(invalid.read[0]).toMatch(/^invalid input for work: n: /)
  class Special extends AgentError {}
  const special = new Special('enough')
  const ended = await worked({
    options,
    work: () => {
      throw special
    },
  })
  expect([ended.error, ended.tries.length]).toEqual([special, 1])

  const model = scriptedModel([respond(call('nobody')), respond(say('Done.'))])
  await createAgent({ model, middleware: [retryTool({ when, tools: ['nobody'], mayBeMissing: true })] }).run('Go')
  expect(when).not.toHaveBeenCalled()
})

test('a tool that has done its work is not run again because its output cannot be read (N8, M12)', async () => {
  const { tries, read } = await worked({ work: () => ({ paid: 12n }) })
  expect(tries).toHaveLength(1)
  expect(read[0]).toMatch(/^work has run, but its result cannot be written/)
})

test('a tool that has done its work is not run again because its output is too large or invalid (N8, P10)', async () => {
  const large = await worked({ work: () => 'x'.repeat(5_000_000) })
  expect(large.tries).toHaveLength(1)
  expect(large.read[0]).toMatch(/^The tool ran and finished; its result of 5000000 characters is not shown/)
  const map = await worked({ work: () => new Map() })
  expect(map.tries).toHaveLength(1)
  expect(map.read[0]).toMatch(/^work has run, but returned a Map, /)
})

test('an error that must not be retried is passed on unchanged, also from a later attempt (N8)', async () => {
  class Special extends AgentError {}
  const special = new Special('enough')
  const ended = await worked({
    work: ({ attempt }) => {
      if (attempt === 2) throw special
      throw new Error('not yet')
    },
  })
  expect([ended.error, ended.tries.length]).toEqual([special, 2])
})

test('a returned error result, such as a denial, is not retried (N8)', async () => {
  const seen = vi.fn()
  const denying: Middleware = {
    name: 'denying',
    async *wrapToolCall({ id, name }) {
      seen()
      return { role: 'tool', callId: id, name, content: [{ type: 'text', text: 'Denied.' }], isError: true }
    },
  }
  const { read } = await worked({ inner: [denying] })
  expect(read).toEqual(['Denied.'])
  expect(seen).toHaveBeenCalledTimes(1)
})

test('an abort of the run ends a wait at once, and no attempt follows (N8)', async () => {
  const controller = new AbortController()
  setTimeout(() => controller.abort(), 1_050)
  const options = { baseDelay: 1_000 }
  const { tries, error, timers } = await worked({ failures: 9, options, signal: controller.signal })
  expect(tries.map(({ at }) => at)).toEqual([0, 1_000])
  expect(error).toMatchObject({ name: 'AbortError', messages: [{}, {}, { role: 'tool', isError: true }] })
  expect(timers).toBe(0)
})

test('an attempt that reacts to an abort with an error is not retried (N8)', async () => {
  const controller = new AbortController()
  setTimeout(() => controller.abort(), 50)
  const when = vi.fn(() => true)
  const { tries } = await worked({
    options: { when },
    signal: controller.signal,
    work: ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
  })
  expect(tries).toHaveLength(1)
  expect(when).not.toHaveBeenCalled()
})

test('when decides whether to retry, and receives the call, how many attempts have failed and whether it was the last (N8)', async () => {
  const told: ToolAttempt[] = []
  const when: RetryToolOptions['when'] = (_, at) => told.push(at) < 2
  expect((await worked({ failures: 9, options: { when } })).read).toEqual(['failure 2 (tried 2 times)'])
  expect(told.map(({ call, attempt, isLast }) => [call.id, attempt, isLast])).toEqual([
    ['c1', 1, false],
    ['c1', 2, false],
  ])
})

test('inner wraps are entered for every attempt, outer wraps once (N7, C13)', async () => {
  const seen: string[] = []
  const seer = (name: string): Middleware => ({
    name,
    async *wrapToolCall(call, next) {
      seen.push(name)
      return yield* next(call)
    },
  })
  await worked({ middleware: [seer('outer')], inner: [seer('inner')] })
  expect(seen).toEqual(['outer', 'inner', 'inner', 'inner'])
})

test('invalid numbers in options are a ConfigError', () => {
  for (const options of [{ maxRetries: -1 }, { maxRetries: 0.5 }, { baseDelay: -1 }, { jitter: Number.NaN }])
    expect(() => retryTool(options)).toThrow(
      expect.objectContaining({ name: 'ConfigError', option: Object.keys(options)[0] }),
    )
})

test('a tool with the effect calls is retried only if it is named; an attempt finds the calls of the previous one by their ids (Q3, N8)', async () => {
  const made: string[] = []
  const part = tool({
    name: 'part',
    description: 'p',
    input: z.object({}),
    execute: (_, { callId }) => made.push(callId),
  }) as Tool
  const bringing: Middleware = {
    name: 'bringing',
    beforeAgent: (setup) => ({ ...setup, tools: [...setup.tools, part] }),
  }
  const work = async ({ run, attempt }: ToolContext) => {
    for (const id of ['first', `of try ${attempt}`])
      await run?.callTool({ type: 'tool-call', id, name: 'part', input: {} })
    if (attempt === 1) throw new Error('failure 1')
    return 'Worked.'
  }
  const effect = 'calls'
  const unnamed = await worked({ effect, work, middleware: [bringing] })
  expect([unnamed.tries.length, unnamed.read.at(-1), made.splice(0)]).toEqual([1, 'failure 1', ['first', 'of try 1']])
  const named = await worked({ effect, work, middleware: [bringing], options: { tools: ['work'] } })
  expect([named.tries.length, named.read.at(-1)]).toEqual([2, 'Worked.'])
  expect(made).toEqual(['first', 'of try 1', 'of try 2'])
})

test('a call that may have happened is not executed again, not even if its tool is named (SE1)', async () => {
  const { tries, read } = await worked({
    effect: 'external',
    options: { tools: ['work'] },
    work: () => {
      throw new OutcomeUnknownError('work', 'the connection was lost')
    },
  })
  expect(tries).toHaveLength(1)
  expect(read).toEqual(['The result of work is unknown: the connection was lost. It may have happened.'])
})
