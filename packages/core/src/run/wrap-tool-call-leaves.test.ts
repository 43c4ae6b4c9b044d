import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { SpanStatusCode } from '@opentelemetry/api'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { pause, ran } from '../../test/left-flows.ts'
import { createAgent, type Middleware, settle, textOf, tool } from '../index.ts'

beforeEach(() => void vi.useFakeTimers())

afterEach(() => void vi.useRealTimers())

test('a wrapToolCall that leaves aborts only the execution it leaves, not the call (C15)', async () => {
  const seen: string[] = []
  const slow = tool({
    name: 'slow',
    description: 'Takes its time.',
    input: z.object({ n: z.number() }),
    async *execute({ n }, { signal }) {
      signal.addEventListener('abort', () => void seen.push(`aborted ${n}`))
      try {
        for (let i = 0; i < 3 && !signal.aborted; i++) {
          await pause(100)
          yield { progress: i / 3 }
        }
        return `done ${n}`
      } finally {
        seen.push(`finally ${n}`)
      }
    },
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('slow', { n: 1 }), call('slow', { n: 2 })), respond(say('done'))]),
    tools: [slow],
    middleware: [
      {
        name: 'impatient',
        async *wrapToolCall(call, next) {
          if (call.id !== 'call_1_1') return yield* next(call)
          await Promise.race([settle(next(call)), pause(150)])
          return { role: 'tool', callId: call.id, name: call.name, content: [{ type: 'text', text: 'too slow' }] }
        },
      },
    ],
  })
  const result = await ran(agent.run('Go'))
  expect(result.messages.slice(2, 4).map(textOf)).toEqual(['too slow', 'done 2'])
  expect(seen).toEqual(['aborted 1', 'finally 1', 'finally 2'])
})

test('a wrapToolCall that leaves aborts the signal of every wrap inside it, for that try only (C14, C15)', async () => {
  const seen: string[] = []
  const watching = (name: string): Middleware => {
    let tries = 0
    return {
      name,
      async *wrapToolCall(call, next, { signal }) {
        const which = `${name} ${++tries}`
        signal.addEventListener('abort', () => void seen.push(`${which}: ${String(signal.reason)}`))
        return yield* next(call)
      },
    }
  }
  const asking: Middleware = {
    name: 'asking',
    async *wrapToolCall(call, next, { signal }) {
      await pause(seen.length > 0 ? 100 : 10_000, signal)
      return yield* next(call)
    },
  }
  const quick = tool({
    name: 'quick',
    description: 'Q',
    input: z.object({}),
    execute: () => void seen.push(`executed at ${performance.now() - start}`),
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('quick', {})), respond(say('done'))]),
    tools: [quick],
    middleware: [
      watching('outside'),
      {
        name: 'again',
        async *wrapToolCall(call, next) {
          const first = next(call)
          await Promise.race([settle(first), pause(150)])
          await first.return(undefined as never)
          seen.push(`closed at ${performance.now() - start}`)
          return yield* next(call)
        },
      },
      watching('inside'),
      asking,
    ],
  })
  const start = performance.now()
  await ran(agent.run('Go'))
  expect(seen).toEqual(['inside 1: Error: the wrap that started this has ended', 'closed at 150', 'executed at 250'])
})

test('a signal that a wrap or tool reads after it was left is aborted, and what it then throws is not a failure (C15)', async () => {
  const seen: string[] = []
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const slow = tool({
    name: 'slow',
    description: 'Takes its time.',
    input: z.object({}),
    async execute(_, { run }) {
      await pause(10_000, run?.signal)
    },
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('slow', {})), respond(say('done'))]),
    tools: [slow],
    telemetry: { tracerProvider },
    middleware: [
      {
        name: 'impatient',
        async *wrapToolCall(call, next) {
          await Promise.race([settle(next(call)), pause(150)])
          return { role: 'tool', callId: call.id, name: call.name, content: [{ type: 'text', text: 'too slow' }] }
        },
      },
      {
        name: 'inside',
        async *wrapToolCall(call, next, run) {
          try {
            return yield* next(call)
          } finally {
            seen.push(`${run.signal.aborted ? 'aborted' : 'not aborted'} at ${performance.now() - start}`)
          }
        },
      },
    ],
  })
  const start = performance.now()
  await ran(agent.run('Go'))
  expect(seen).toEqual(['aborted at 150'])
  const failed = exporter.getFinishedSpans().filter(({ status }) => status.code === SpanStatusCode.ERROR)
  expect(failed.map(({ name }) => name)).toEqual([])
})

test('an execution that waits for a slot when its wrap leaves never executes (C15)', async () => {
  const executed: number[] = []
  const slow = tool({
    name: 'slow',
    description: 'Takes its time.',
    input: z.object({ n: z.number() }),
    async execute({ n }) {
      executed.push(n)
      await pause(100)
    },
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('slow', { n: 1 }), call('slow', { n: 2 })), respond(say('done'))]),
    tools: [slow],
    toolConcurrency: 1,
    middleware: [
      {
        name: 'impatient',
        async *wrapToolCall(call, next) {
          if (call.id !== 'call_1_2') return yield* next(call)
          await Promise.race([settle(next(call)), pause(50)])
          return { role: 'tool', callId: call.id, name: call.name, content: [{ type: 'text', text: 'too slow' }] }
        },
      },
    ],
  })
  const result = await ran(agent.run('Go'))
  expect(result.messages.slice(2, 4).map(textOf)).toEqual(['', 'too slow'])
  expect(executed).toEqual([1])
})
