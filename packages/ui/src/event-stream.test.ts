import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { eventStream } from './event-stream.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a stream without events for 15 s sends a comment, and loses no event (UI1)', async () => {
  async function* events() {
    yield { n: 1 }
    await new Promise((resolve) => setTimeout(resolve, 40_000))
    yield { n: 2 }
  }
  const text = eventStream(events, { last: 'data: [DONE]\n\n' }).text()
  await vi.advanceTimersByTimeAsync(40_000)
  expect((await text).split('\n\n').filter(Boolean)).toEqual([
    'data: {"n":1}',
    ': keep-alive',
    ': keep-alive',
    'data: {"n":2}',
    'data: [DONE]',
  ])
  expect(vi.getTimerCount()).toBe(0)
})

test('a reader that disconnects while it waits ends the events, and leaves no timer (UI1)', async () => {
  let isClosed = false
  async function* events(signal: AbortSignal) {
    try {
      yield { n: 1 }
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    } finally {
      isClosed = true
    }
  }
  const reader = eventStream(events).body?.getReader()
  await reader?.read()
  const waiting = reader?.read()
  await vi.advanceTimersByTimeAsync(1_000)
  await reader?.cancel()
  expect(await waiting).toEqual({ done: true, value: undefined })
  expect(isClosed).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})
