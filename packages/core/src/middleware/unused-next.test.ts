import { call, collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { afterEach, expect, test, vi } from 'vitest'
import { sleep } from '../../test/clock.ts'
import { comparable } from '../../test/comparable-events.ts'
import { answer, texts, toolCall } from '../../test/messages.ts'
import { echo } from '../../test/tools.ts'
import { createAgent, tool } from '../index.ts'

afterEach(() => void vi.useRealTimers())

test('next is lazy: nothing is requested or executed before its flow is pulled (C11)', async () => {
  vi.useFakeTimers()
  const model = scriptedModel([respond(call('slow', { text: 'a' })), respond(say('b'))])
  const executed: number[] = []
  const slow = tool({
    ...echo,
    name: 'slow',
    execute: () => `execution ${executed.push(performance.now())}`,
  })
  const start = performance.now()
  const seen: string[] = []
  const agent = createAgent({
    model,
    tools: [slow],
    middleware: [
      {
        name: 'waits',
        async *wrapAgent(setup, next) {
          const flow = next(setup)
          await sleep(100)
          seen.push(`model calls: ${model.requests.length}`)
          return yield* flow
        },
        async *wrapModel(request, next) {
          const flow = next(request)
          await sleep(100)
          seen.push(`model calls: ${model.requests.length}`)
          return yield* flow
        },
        async *wrapToolCall(call, next) {
          const flow = next(call)
          await sleep(100)
          return yield* flow
        },
      },
    ],
  })
  const collecting = collect(agent.stream('Go'))
  await vi.advanceTimersByTimeAsync(150)
  expect(model.requests).toHaveLength(0)
  await vi.runAllTimersAsync()
  const { events } = await collecting
  expect(seen).toEqual(['model calls: 0', 'model calls: 0', 'model calls: 1'])
  expect(executed).toEqual([start + 300])
  expect(events.filter(({ type }) => type === 'attempt-start')).toHaveLength(2)
})

test('a flow of next that is never pulled makes no request, and is not an attempt (C11, C12)', async () => {
  const model = scriptedModel([])
  const agent = createAgent({
    model,
    middleware: [
      {
        name: 'changes its mind',
        async *wrapModel(request, next) {
          next(request)
          return answer('without you')
        },
      },
    ],
  })
  const { events, result } = await collect(agent.stream('Go'))
  expect(result?.text).toBe('without you')
  expect(model.requests).toHaveLength(0)
  expect(events.map(({ type }) => type)).toEqual(['run-start', 'step-start', 'message', 'step-end', 'run-end'])
})

test('a wrap that never calls next answers itself: its message passes afterModel, calls, gate and history (C12)', async () => {
  const seen: string[] = []
  const agent = createAgent({
    model: scriptedModel([]),
    tools: [echo],
    middleware: [
      {
        name: 'hooks',
        afterModel: ({ messages }, run) =>
          void seen.push(`afterModel ${run.step}: ${texts(messages.slice(-1)).join()}`),
        beforeFinalAnswer: ({ messages }) => void seen.push(`gate: ${texts(messages.slice(-1)).join()}`),
      },
      {
        name: 'answers',
        async *wrapModel(request) {
          if (request.messages.length > 1) return answer('done')
          return { ...answer('one moment'), content: [toolCall('mine', 'echo', { text: 'a' })] }
        },
      },
    ],
  })
  const { events, result } = await collect(agent.stream('Go'))
  expect(seen).toEqual(['afterModel 1: ', 'afterModel 2: done', 'gate: done'])
  expect(result).toMatchObject({ text: 'done', steps: 2, usage: {} })
  expect(texts(result?.messages ?? [])).toEqual(['Go', '', 'a', 'done'])
  const mine = { callId: 'mine', toolName: 'echo' }
  expect(comparable(events).slice(0, 8)).toEqual([
    { type: 'run-start' },
    { type: 'step-start', step: 1 },
    { type: 'message', message: result?.messages[1], step: 1 },
    { type: 'tool-start', ...mine, call: toolCall('mine', 'echo', { text: 'a' }), step: 1 },
    { type: 'tool-entered', ...mine, attempt: 1, step: 1 },
    { type: 'tool-end', ...mine, message: result?.messages[2], step: 1 },
    { type: 'message', message: result?.messages[2], step: 1 },
    { type: 'step-end', messages: result?.messages.slice(1, 3), step: 1 },
  ])
})

test('a wrap that answers itself must not repeat the id of a call of an earlier step (W8, C12)', async () => {
  const agent = createAgent({
    model: scriptedModel([]),
    tools: [echo],
    middleware: [
      {
        name: 'repeats itself',
        async *wrapModel() {
          return { ...answer(''), content: [toolCall('same', 'echo', { text: 'a' })] }
        },
      },
    ],
  })
  const message = 'call id same was used by an earlier step'
  await expect(agent.run('Go')).rejects.toMatchObject({
    name: 'MiddlewareError',
    hook: 'wrapModel',
    message: expect.stringContaining(message) as string,
  })
})

test('a wrap that answers a call itself executes nothing; its message replaces the result (C12)', async () => {
  const execute = vi.fn(({ text }: { text: string }) => text)
  const agent = createAgent({
    model: scriptedModel([respond(call('echo', { text: 'a' })), respond(say('b'))]),
    tools: [tool({ ...echo, execute })],
    middleware: [
      {
        name: 'cached',
        async *wrapToolCall({ id, name }) {
          return { role: 'tool', callId: id, name, content: [{ type: 'text', text: 'cached' }] }
        },
      },
    ],
  })
  const { events, result } = await collect(agent.stream('Go'))
  expect(execute).not.toHaveBeenCalled()
  const message = { role: 'tool', callId: 'call_1_1', name: 'echo', content: [{ type: 'text', text: 'cached' }] }
  expect(result?.messages[2]).toEqual(message)
  expect(events.flatMap((event) => (event.type === 'tool-end' ? [event.message] : []))).toEqual([message])
})
