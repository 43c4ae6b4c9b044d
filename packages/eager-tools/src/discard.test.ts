import { call, collect, cut, end, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, type Tool, ToolDiscardedError, tool } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { done, ran } from '../test/early-runs.ts'
import { results, toolOutline } from '../test/outline.ts'
import { after, input, workshop } from '../test/workshop.ts'
import { eagerTools } from './index.ts'

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

test('a discard aborts the signal of only that call (H20)', async () => {
  const withdraw: Middleware = {
    name: 'withdraw',
    afterModel: ({ messages }) => {
      const last = messages.at(-1)
      if (last?.role !== 'assistant') return
      const content = last.content.filter((part) => part.type !== 'tool-call' || part.id !== 'c1')
      return { messages: [...messages.slice(0, -1), { ...last, content }] }
    },
  }
  const script = respond(
    call('look', { n: 1, ms: 500 }, { id: 'c1', deltas: 1 }),
    call('look', { n: 2, ms: 500 }, { id: 'c2', deltas: 1 }),
    wait(100),
    say('So.'),
  )
  const { log, contexts, result } = await ran([script, done], { middleware: [withdraw] })
  expect(log).toEqual(['0 look 1', '0 look 2', '100 look 1 aborted'])
  expect(contexts.map(({ signal }) => signal.aborted)).toEqual([true, false])
  expect(contexts[0]?.signal.reason).toEqual(new ToolDiscardedError('c1', 'call_withdrawn'))
  expect(results(result?.messages).map(({ callId }) => callId)).toEqual(['c2'])
})

test('a call that is discarded while its input is being checked does not start (H20)', async () => {
  const begun: string[] = []
  const slow = tool({
    name: 'slow',
    description: 'Checks its input for long: 50 ms before it starts, and again when it has.',
    input: input.refine(() => after(50).then(() => true)),
    effect: 'read',
    execute: () => void begun.push('slow'),
  }) as Tool
  const script = respond(call('slow', { n: 1 }, { id: 'c1', deltas: 1 }), wait(70), end({ finishReason: 'length' }))
  const { events } = await ran([script, respond(wait(100), say('Done.'))], { tools: [slow] })
  expect(toolOutline(events)).toEqual([
    'tool-start c1 provisional',
    'tool-discarded c1 stream_truncated',
    'tool-end c1 error',
  ])
  expect(begun).toEqual([])
})

test('a read of a response whose end is missing has run for nothing: its result is dropped with the response (H21)', async () => {
  const script = respond(call('look', { n: 1 }, { id: 'c1', deltas: 1 }), wait(100), cut())
  const { log, events, error } = await ran([script])
  expect(log).toEqual(['0 look 1'])
  expect(toolOutline(events)[1]).toMatch(/^tool-discarded c1 /)
  expect(error).toMatchObject({ name: 'ModelError', messages: [{ role: 'user' }] })
})

test('a discarded tool that ignores its signal is waited for at most the grace time and reported as abandoned (H20, K12)', async () => {
  const script = respond(
    call('look', { n: 1, ms: 60_000, deaf: true }, { id: 'c1', deltas: 1 }),
    wait(100),
    end({ finishReason: 'other' }),
  )
  const { result, took } = await ran([script], { grace: 300 })
  expect(took).toBe(400)
  expect(result?.abandoned).toEqual(['c1'])
})

test('an abandoned call releases its slot, and what it does later has no effect on the run (H13, H20)', async () => {
  const deaf = tool({
    name: 'deaf',
    description: 'Goes on whatever happens.',
    input,
    effect: 'read',
    async *execute({ n }, { run }) {
      await after(2_000)
      run?.emit({ name: `emitted by ${n}`, data: null })
      yield { message: `progress of ${n}` }
      await run?.callTool({ type: 'tool-call', id: 'side', name: 'look', input: { n: 9 } })
      return n
    },
  }) as Tool
  const { log, tools } = workshop()
  const model = scriptedModel([
    respond(call('deaf', { n: 1 }, { id: 'c1', deltas: 1 }), end({ finishReason: 'length' })),
    respond(call('look', { n: 2, ms: 2_000 }, { id: 'c2', deltas: 1 })),
    done,
  ])
  const agent = createAgent({
    model,
    tools: [...tools, deaf],
    middleware: [eagerTools()],
    toolConcurrency: 1,
    grace: 300,
  })
  const { events, result } = await played(collect(agent.stream('Go')))
  expect(log).toEqual(['300 look 2'])
  expect(toolOutline(events)).toEqual([
    'tool-start c1 provisional',
    'tool-discarded c1 stream_truncated',
    'tool-end c1 error',
    'tool-start c2 provisional',
    'tool-committed c2',
    'tool-end c2',
  ])
  expect(result?.abandoned).toEqual(['c1'])
})

test('a call that a discarded tool tries to make afterwards is not made (H20, H24)', async () => {
  const begun: string[] = []
  const maker = tool({
    name: 'maker',
    description: 'Has another tool work for it.',
    input,
    effect: 'read',
    async execute({ n }, { run, signal }) {
      await after(10_000, signal).catch(() => undefined)
      await run?.callTool({ type: 'tool-call', id: `of ${n}`, name: 'noting', input: { n } })
      return n
    },
  }) as Tool
  const noting = tool({
    name: 'noting',
    description: 'Notes.',
    input,
    execute: ({ n }) => void begun.push(`noting ${n}`),
  }) as Tool
  const script = respond(call('maker', { n: 1 }, { id: 'c1', deltas: 1 }), wait(100), end({ finishReason: 'length' }))
  const { result } = await ran([script, respond(wait(100), say('Done.'))], { tools: [maker, noting] })
  expect(result?.text).toBe('Done.')
  expect(begun).toEqual([])
})

test('a call made by an early tool is aborted with it (H20, H39)', async () => {
  const maker = tool({
    name: 'maker',
    description: 'Has another tool work for it.',
    input,
    effect: 'read',
    execute: ({ n }, { run }) =>
      run?.callTool({ type: 'tool-call', id: `of ${n}`, name: 'look', input: { n, ms: 1_000 } }),
  }) as Tool
  const script = respond(call('maker', { n: 1 }, { id: 'c1', deltas: 1 }), wait(100), end({ finishReason: 'length' }))
  const { log, result } = await ran([script, done], { tools: [maker] })
  expect(log).toEqual(['0 look 1', '100 look 1 aborted'])
  expect(result?.text).toBe('Done.')
})
