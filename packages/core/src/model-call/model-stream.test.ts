import { collect } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { sleep } from '../../test/clock.ts'
import { createAgent, type Middleware, type Model } from '../index.ts'

test('a stream that is at a yield when the abort comes is not pulled again, and its close is awaited (K1)', async () => {
  const controller = new AbortController()
  const seen: string[] = []
  const model: Model = {
    provider: 'own',
    id: 'own-1',
    async *stream() {
      try {
        yield { type: 'text-delta', delta: 'a' }
        seen.push('pulled')
        yield { type: 'text-delta', delta: 'b' }
        return { role: 'assistant', content: [{ type: 'text', text: 'ab' }], finishReason: 'stop' }
      } finally {
        await sleep(5)
        seen.push('closed')
      }
    },
  }
  const aborts: Middleware = {
    name: 'aborts',
    async *wrapModel(request, next) {
      const flow = next(request)
      await flow.next()
      controller.abort()
      return yield* flow
    },
  }
  const run = createAgent({ model, middleware: [aborts] }).stream('Go', { signal: controller.signal })
  const { error } = await collect(run)
  expect(error).toMatchObject({ name: 'AbortError' })
  expect(seen).toEqual(['closed'])
})

test('a delta announces no call: its start does, or the call itself (B5, G10)', async () => {
  const taken: string[][] = []
  const model: Model = {
    provider: 'own',
    id: 'own-1',
    async *stream({ takenIds }) {
      taken.push([...takenIds])
      yield { type: 'tool-input-start', id: 'started', name: 'nobody' }
      yield { type: 'tool-input-delta', id: 'never-started', delta: '{' }
      return { role: 'assistant', content: [{ type: 'text', text: 'Done.' }], finishReason: 'stop' }
    },
  }
  const again: Middleware = {
    name: 'again',
    async *wrapModel(request, next) {
      yield* next(request)
      return yield* next(request)
    },
  }
  await createAgent({ model, middleware: [again] }).run('Go')
  expect(taken).toEqual([[], ['started']])
})

test('an error hides its content when it is written as JSON, and keeps it for code that holds the error (B2)', async () => {
  const secret = 'canary-4711'
  const model: Model = {
    provider: 'own',
    id: 'own-1',
    async *stream() {
      return { role: 'assistant', content: [{ type: 'text', text: secret }], finishReason: 'error' }
    },
  }
  const { events, error } = await collect(createAgent({ model }).stream('Go'))
  expect(events.map(({ type }) => type)).toContain('attempt-failed')
  expect(JSON.stringify(events)).not.toContain(secret)
  expect(error).toMatchObject({ partial: { content: [{ text: secret }] } })
})
