import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { handMade } from '../test/ai-sdk.ts'
import { ask, failureOf, requestTo } from '../test/ask.ts'
import { type AiSdkModel, aiSdk } from './ai-sdk.ts'

type Part = Parameters<typeof handMade>[1][number]

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

const said: readonly Part[] = [
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: 'Hel' },
  { type: 'text-delta', id: '0', delta: 'lo' },
]
const finish: Part = { type: 'finish', finishReason: 'stop', usage: { inputTokens: 1, outputTokens: 2 } }

/**
 * A model that emits a part every `every` ms and then nothing; records whether its stream was cancelled and its signal
 * aborted.
 */
function stalling(every: number, parts: readonly Part[], asked = () => {}) {
  const state: { left: boolean; signal?: AbortSignal | undefined } = { left: false }
  const rest = [...parts]
  const stream = new ReadableStream<Part>(
    {
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, rest.length > 0 ? every : 86_400_000))
        const part = rest.shift()
        if (part && !state.left) controller.enqueue(part)
      },
      cancel() {
        state.left = true
      },
    },
    { highWaterMark: 0 },
  )
  const { model } = handMade('v4', [])
  const answering: AiSdkModel = {
    ...model,
    specificationVersion: 'v4',
    async doStream({ abortSignal }) {
      state.signal = abortSignal
      asked()
      return { stream }
    },
  }
  return { model: answering, state }
}

test('a stream that becomes silent is ended when its time is over, not before (qT7)', async () => {
  const { model, state } = stalling(900, said)
  const failure = failureOf(ask(aiSdk(model, { idleTimeout: 1_000 })))
  await vi.advanceTimersByTimeAsync(3 * 900 + 950)
  expect(state.left).toBe(false)
  await vi.advanceTimersByTimeAsync(100)
  expect(await failure).toMatchObject({
    name: 'ModelError',
    code: 'idle_timeout',
    retryable: true,
    partial: { content: [{ type: 'text', text: 'Hello' }] },
  })
  expect(state).toMatchObject({ left: true, signal: { aborted: true } })
})

test.each<[string, Part]>([
  ['pings', { type: 'ping' }],
  ['raw chunks', { type: 'raw' }],
  ['empty pieces of text', { type: 'text-delta', id: '0', delta: '' }],
  ['empty thoughts', { type: 'reasoning-delta', id: '1', delta: '' }],
  ['empty pieces of input', { type: 'tool-input-delta', id: 'c1', delta: '' }],
])('%s count as silence (qT4)', async (_, part) => {
  const { model } = stalling(100, [...said, ...Array.from({ length: 50 }, () => part)])
  const failure = failureOf(ask(aiSdk(model, { idleTimeout: 1_000 })))
  await vi.advanceTimersByTimeAsync(1_400)
  expect(await failure).toMatchObject({ code: 'idle_timeout' })
})

test('the limit is five minutes unless another is given (qT7)', async () => {
  const { model, state } = stalling(0, said)
  const failure = failureOf(ask(aiSdk(model)))
  await vi.advanceTimersByTimeAsync(299_000)
  expect(state.left).toBe(false)
  await vi.advanceTimersByTimeAsync(2_000)
  expect(await failure).toMatchObject({ code: 'idle_timeout' })
})

test('without a limit a stream may be silent for any time', async () => {
  const { model } = stalling(86_400_000, [...said, finish])
  const flow = aiSdk(model, { idleTimeout: Number.POSITIVE_INFINITY })
  const events = flow.stream(requestTo(flow))
  const first = events.next()
  await vi.advanceTimersByTimeAsync(3 * 86_400_000)
  expect(await first).toMatchObject({ value: { delta: 'Hel' } })
  const closing = events.return({ role: 'assistant', content: [], finishReason: 'other' })
  await vi.runAllTimersAsync()
  await closing
})

test('the reader’s own time does not count, and no timer remains', async () => {
  const model = aiSdk(handMade('v4', [...said, finish]).model, { idleTimeout: 1_000 })
  const flow = model.stream(requestTo(model))
  await flow.next()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(await flow.next()).toMatchObject({ value: { type: 'text-delta', delta: 'lo' } })
  expect(await flow.next()).toMatchObject({ done: true })
  expect(vi.getTimerCount()).toBe(0)
})

test('parts after the finish part are not read, and the stream is cancelled after half a second (P1, qT13)', async () => {
  const following: Part[] = [
    { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: '{}' },
    { type: 'error', error: new Error('too late') },
    { ...said[1], type: 'text-delta', id: '0' },
  ]
  const { model, state } = stalling(40, [...said, finish, ...following])
  let message: unknown
  const asked = ask(aiSdk(model)).then((answer) => {
    message = answer.message
  })
  await vi.advanceTimersByTimeAsync(4 * 40 + 490)
  expect(message).toBeUndefined()
  await vi.advanceTimersByTimeAsync(20)
  await asked
  expect(message).toMatchObject({ content: [{ type: 'text', text: 'Hello' }], finishReason: 'stop' })
  expect(state.left).toBe(true)
})

test('a stream that is returned after the request was aborted is cancelled, and the reason is thrown', async () => {
  const reason = new Error('enough')
  const aborter = new AbortController()
  const { model, state } = stalling(900, said, () => aborter.abort(reason))
  expect(await failureOf(ask(aiSdk(model), { signal: aborter.signal }))).toBe(reason)
  expect(state.left).toBe(true)
})

test('a stream that continues after its end and never waits is cancelled, too (P9)', async () => {
  vi.useRealTimers()
  const begin = performance.now()
  const rest: Part[] = [...said, finish]
  let isCancelled = false
  const stream = new ReadableStream<Part>({
    pull(controller) {
      // While it goes on, no test can end it.
      if (performance.now() - begin < 20_000) controller.enqueue(rest.shift() ?? { type: 'raw' })
      else controller.close()
    },
    cancel() {
      isCancelled = true
    },
  })
  const { model } = handMade('v4', [])
  const { message } = await ask(aiSdk({ ...model, specificationVersion: 'v4', doStream: async () => ({ stream }) }))
  expect(message).toMatchObject({ content: [{ type: 'text', text: 'Hello' }], finishReason: 'stop' })
  expect(isCancelled).toBe(true)
})
