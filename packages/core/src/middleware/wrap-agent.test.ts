import { collect, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { afterEach, expect, test, vi } from 'vitest'
import { sleep } from '../../test/clock.ts'
import { createAgent, textOf } from '../index.ts'

afterEach(() => void vi.useRealTimers())

test('wrapAgent receives the accepted result once, after every other hook, and the run returns what it returns (C20, C8)', async () => {
  const seen: string[] = []
  const agent = createAgent({
    model: scriptedModel([respond(say('no')), respond(say('yes'))]),
    middleware: [
      {
        name: 'whole',
        async *wrapAgent(setup, next) {
          const result = yield* next(setup)
          seen.push(`wrapAgent: ${result.text}`)
          return { ...result, text: result.text.toUpperCase() }
        },
        afterModel: () => void seen.push('afterModel'),
        beforeFinalAnswer({ messages }) {
          const last = messages.at(-1)
          seen.push(`gate: ${last && textOf(last)}`)
          return last && textOf(last) === 'no' ? { accept: false, feedback: 'Really?' } : { accept: true }
        },
      },
    ],
  })
  const { events, result } = await collect(agent.stream('Go'))
  expect(seen).toEqual(['afterModel', 'gate: no', 'afterModel', 'gate: yes', 'wrapAgent: yes'])
  expect(result?.text).toBe('YES')
  expect(events.at(-1)).toEqual({ type: 'run-end', runId: events[0]?.runId, result })
})

test('a failure reaches wrapAgent as a throw, and its finally has run before the result settles (C20)', async () => {
  vi.useFakeTimers()
  const seen: string[] = []
  const failed = new Error('no network')
  const agent = createAgent({
    model: {
      provider: 'own',
      id: 'own-1',
      async *stream() {
        throw failed
      },
    },
    middleware: [
      {
        name: 'whole',
        async *wrapAgent(setup, next) {
          try {
            return yield* next(setup)
          } catch (error) {
            seen.push(`caught ${error instanceof Error && error.message}`)
            throw error
          } finally {
            await sleep(100)
            seen.push('finally')
          }
        },
      },
    ],
  })
  const running = collect(agent.stream('Go')).then(({ error }) => void seen.push(`settled ${String(error)}`))
  await vi.runAllTimersAsync()
  await running
  expect(seen).toEqual(['caught no network', 'finally', 'settled ModelError: no network'])
})

test('an abort reaches wrapAgent as a throw, and its finally has run before the result settles (C20)', async () => {
  vi.useFakeTimers()
  const seen: string[] = []
  const agent = createAgent({
    model: scriptedModel([respond(wait(10_000), say('late'))]),
    middleware: [
      {
        name: 'whole',
        async *wrapAgent(setup, next) {
          try {
            return yield* next(setup)
          } catch (error) {
            seen.push(`caught ${String(error)}`)
            throw error
          } finally {
            await sleep(100)
            seen.push('finally')
          }
        },
      },
    ],
  })
  const controller = new AbortController()
  const running = agent
    .run('Go', { signal: controller.signal })
    .catch((error) => void seen.push(`settled ${String(error)}`))
  await vi.advanceTimersByTimeAsync(500)
  controller.abort()
  await vi.advanceTimersByTimeAsync(500)
  await running
  expect(seen).toEqual(['caught AbortError: the run was aborted', 'finally', 'settled AbortError: the run was aborted'])
})
