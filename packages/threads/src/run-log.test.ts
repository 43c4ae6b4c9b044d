import type { AgentEvent } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { all } from '../test/chat.ts'
import { createThreads, memoryThreads, type StoppedThreadRun, type ThreadRunEvent, type ThreadRuns } from './index.ts'

test('a reader that saw deltas and the worker that no longer has them give a message the same id and the same cursor (TH5, TH12)', async () => {
  const input = { role: 'user', content: 'Hello' } as const
  const message = {
    role: 'assistant',
    content: [{ type: 'text', text: 'Hi.' }],
    finishReason: 'stop',
  } as const
  const runId = 'run'
  const at = (cursor: string, event: AgentEvent): ThreadRunEvent => ({ cursor, event })
  let log: readonly ThreadRunEvent[] = [
    at('1.1', { type: 'run-start', runId }),
    at('1.2', { type: 'history-replaced', runId, messages: [input] }),
    at('2.1', { type: 'text-delta', runId, attempt: 1, delta: 'Hi' }),
    at('2.2', { type: 'text-delta', runId, attempt: 1, delta: '.' }),
    at('3.1', { type: 'message', runId, message }),
    { cursor: '3.end', event: { type: 'run-stopped' } },
  ]
  let stopped: (run: StoppedThreadRun) => Promise<void> = async () => {}
  const runs: ThreadRuns = {
    agents: ['helper'],
    start: async () => undefined,
    answer: async () => {},
    send: async () => true,
    cancel: async () => {},
    retry: async () => {},
    get: async () => ({ status: 'running', attempts: 1 }),
    async *events() {
      yield* log
    },
    delete: async () => {},
    onStopped(listener) {
      stopped = listener
    },
  }
  const threads = createThreads({ runs, store: memoryThreads() })
  const turn = await threads.send('t', 'Hello')
  const live = all(turn.events())
  await new Promise((resolve) => setTimeout(resolve, 50))
  // The step has ended: its deltas are deleted.
  log = log.filter(({ event }) => event.type !== 'text-delta')
  const data = { thread: 't', turn: turn.id }
  const outcome = async () => ({ messages: [input, message], text: 'Hi.' })
  await stopped({ id: turn.id, data, status: 'completed', attempts: 1, outcome })
  const events = await live
  expect(events.map(({ type }) => type)).toEqual(['turn-start', 'text-delta', 'text-delta', 'message', 'turn-end'])
  const later = await all(turn.events())
  expect(later).toEqual(events.filter(({ type }) => type !== 'text-delta'))
})
