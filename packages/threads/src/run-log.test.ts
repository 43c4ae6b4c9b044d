import { type AgentEvent, CheckpointMissingError } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { all } from '../test/chat.ts'
import { createThreads, memoryThreads, type StoppedThreadRun, type ThreadRunEvent, type ThreadRuns } from './index.ts'

const input = { role: 'user', content: 'Hello' } as const
const runId = 'run'

const at = (cursor: string, event: AgentEvent): ThreadRunEvent => ({ cursor, event })

/** Durable runs whose events a test sets. `stop` reports a stop to the threads. */
class FakeRuns implements ThreadRuns {
  readonly agents = ['helper']
  log: readonly ThreadRunEvent[] = []
  stop: (run: StoppedThreadRun) => Promise<void> = async () => {}

  async start(): Promise<void> {}
  async answer(): Promise<void> {}
  async cancel(): Promise<void> {}
  async retry(): Promise<void> {}
  async delete(): Promise<void> {}

  async send(): Promise<boolean> {
    return true
  }

  async get(): Promise<{ status: 'running'; attempts: number }> {
    return { status: 'running', attempts: 1 }
  }

  async *events(): AsyncGenerator<ThreadRunEvent> {
    yield* this.log
  }

  onStopped(listener: FakeRuns['stop']): void {
    this.stop = listener
  }
}

test('a reader that received deltas and a worker that no longer has them compute the same id and cursor for a message (TH5, TH12)', async () => {
  const message = {
    role: 'assistant',
    content: [{ type: 'text', text: 'Hi.' }],
    finishReason: 'stop',
  } as const
  const runs = new FakeRuns()
  runs.log = [
    at('1.1', { type: 'run-start', runId }),
    at('1.2', { type: 'history-replaced', runId, messages: [input] }),
    at('2.1', { type: 'text-delta', runId, attempt: 1, delta: 'Hi' }),
    at('2.2', { type: 'text-delta', runId, attempt: 1, delta: '.' }),
    at('3.1', { type: 'message', runId, message }),
    { cursor: '3.end', event: { type: 'run-stopped' } },
  ]
  const threads = createThreads({ runs, store: memoryThreads() })
  const turn = await threads.send('t', 'Hello')
  const live = all(turn.events())
  await new Promise((resolve) => setTimeout(resolve, 50))
  // The step has ended: its deltas are deleted.
  runs.log = runs.log.filter(({ event }) => event.type !== 'text-delta')
  const data = { thread: 't', turn: turn.id }
  const outcome = async () => ({ messages: [input, message], text: 'Hi.' })
  await runs.stop({ id: turn.id, data, status: 'completed', attempts: 1, outcome })
  const events = await live
  expect(events.map(({ type }) => type)).toEqual(['turn-start', 'text-delta', 'text-delta', 'message', 'turn-end'])
  const later = await all(turn.events())
  expect(later).toEqual(events.filter(({ type }) => type !== 'text-delta'))
})

test('if the checkpoint of a run is lost, each open call gets a result, and a call that the provider executed gets none (TH2, TH4)', async () => {
  const message = {
    role: 'assistant',
    content: [
      {
        type: 'tool-call',
        id: 'p',
        name: 'web_search',
        input: {},
        providerResult: { output: 'found', isError: false },
      },
      { type: 'tool-call', id: 'c', name: 'mail', input: {} },
    ],
    finishReason: 'tool-calls',
  } as const
  const runs = new FakeRuns()
  runs.log = [
    at('1.1', { type: 'run-start', runId }),
    at('1.2', { type: 'history-replaced', runId, messages: [input] }),
    at('2.1', { type: 'message', runId, message }),
  ]
  const threads = createThreads({ runs, store: memoryThreads(), onError: () => {} })
  const turn = await threads.send('t', 'Hello')
  const outcome = () => Promise.reject(new CheckpointMissingError(turn.id))
  await runs.stop({ id: turn.id, data: { thread: 't', turn: turn.id }, status: 'cancelled', attempts: 1, outcome })
  const { messages } = await threads.read('t')
  const results = messages.flatMap(({ message }) => (message.role === 'tool' ? [message] : []))
  expect(results).toEqual([
    {
      role: 'tool',
      callId: 'c',
      name: 'mail',
      content: [{ type: 'text', text: 'No result: the stored state of this call was lost.' }],
      isError: true,
    },
  ])
})

test('the decisions about approvals of a durable run are kept in its thread, also those inside calls (W53)', async () => {
  const decided = (data: object) => ({ type: 'custom', source: 'approve', name: 'approval', data, runId }) as const
  const [allowed, denied] = [{ decision: 'allow', input: { n: 1 }, by: 'ada' }, { decision: 'deny' }]
  const path = [{ agent: 'clerk', callId: 'a' }]
  const runs = new FakeRuns()
  runs.log = [
    at('1.1', { type: 'run-start', runId }),
    at('1.2', { type: 'history-replaced', runId, messages: [input] }),
    at('2.1', { ...decided(allowed), callId: 'a', toolName: 'ask', step: 1 }),
    at('2.2', { ...decided(denied), callId: 'b', toolName: 'pay', step: 1, path }),
    at('2.3', { type: 'custom', source: 'other', name: 'approval', data: allowed, runId }),
    at('2.4', { ...decided('yes' as never), callId: 'c', toolName: 'approve', step: 1 }),
    // Another process has made the call again.
    at('3.1', { ...decided(allowed), callId: 'a', toolName: 'ask', step: 1 }),
  ]
  const threads = createThreads({ runs, store: memoryThreads() })
  const { id: turn } = await threads.send('t', 'Hello')
  expect((await threads.read('t')).decisions).toEqual([
    { turn, callId: 'a', toolName: 'ask', ...allowed },
    { turn, callId: 'b', toolName: 'pay', path, ...denied },
  ])
})

test('all decisions about calls with one id are kept: a wrap may pass a call on twice, and calls may make inner calls with one id (W53)', async () => {
  const allowed = { decision: 'allow', input: { n: 5 }, by: 'ada' }
  const denied = { decision: 'deny', by: 'boss' }
  const call = { callId: 'a', toolName: 'pay' }
  const event = { type: 'custom', source: 'approve', name: 'approval', runId, step: 1, ...call } as const
  const runs = new FakeRuns()
  // Another process tells them again.
  const told = [allowed, denied, allowed, denied].map((data, i) => at(`2.${i + 1}`, { ...event, data }))
  runs.log = [
    at('1.1', { type: 'run-start', runId }),
    at('1.2', { type: 'history-replaced', runId, messages: [input] }),
    ...told,
  ]
  const threads = createThreads({ runs, store: memoryThreads() })
  const { id: turn } = await threads.send('t', 'Hello')
  const { decisions } = await threads.read('t')
  expect(decisions).toEqual([allowed, denied].map((one) => ({ turn, ...call, ...one })))
})

test('a reader that received deltas and a worker that no longer has them compute the same numbers after a hook has changed a message (TH12, W35)', async () => {
  const message = (text: string) =>
    ({ role: 'assistant', content: [{ type: 'text', text }], finishReason: 'stop' }) as const
  const runs = new FakeRuns()
  runs.log = [
    at('1.1', { type: 'run-start', runId }),
    at('1.2', { type: 'history-replaced', runId, messages: [input] }),
    at('2.1', { type: 'message', runId, message: message('Hi.') }),
    at('2.2', { type: 'history-replaced', runId, messages: [input, message('***')] }),
    at('2.3', { type: 'text-delta', runId, attempt: 1, delta: 'B' }),
    at('2.4', { type: 'message', runId, message: message('Bye.') }),
    { cursor: '2.end', event: { type: 'run-stopped' } },
  ]
  const threads = createThreads({ runs, store: memoryThreads() })
  const turn = await threads.send('t', 'Hello')
  const live = all(turn.events())
  await new Promise((resolve) => setTimeout(resolve, 50))
  runs.log = runs.log.filter(({ event }) => event.type !== 'text-delta')
  const data = { thread: 't', turn: turn.id }
  const messages = [input, message('***'), message('Bye.')]
  await runs.stop({
    id: turn.id,
    data,
    status: 'completed',
    attempts: 1,
    outcome: async () => ({ messages, text: 'Bye.' }),
  })
  const events = await live
  const changed = events.find(({ type }) => type === 'history-replaced')
  const first = events.find(({ type }) => type === 'message')
  expect(changed).toMatchObject({ messageId: Object(first).messageId })
  expect(await all(turn.events())).toEqual(events.filter(({ type }) => type !== 'text-delta'))
  expect((await threads.read('t')).messages.map(({ message }) => message)).toEqual(messages)
})
