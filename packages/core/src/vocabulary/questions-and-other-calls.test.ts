import { call, collect, respond, say, wait } from '@meanwhile/assemble/testing'
import { expect, test, vi } from 'vitest'
import { anything, askingAgent } from '../../test/asking-agent.ts'
import { early } from '../../test/early-calls.ts'
import { played } from '../../test/played-runs.ts'
import { answersTo, checkpointOf, idsOf, textsOf } from '../../test/results.ts'
import { interrupt, type Middleware, ModelError, map, type Tool, tool } from '../index.ts'

const { did, book, look, agentOf } = askingAgent()

test('other calls finish, several questions are listed in call order, and only what asked is made again (L3, L7)', async () => {
  const responses = [
    respond(call('book', { what: 'a' }), call('look', { ms: 50 }), call('book', { what: 'b' })),
    respond(say('Done')),
  ]
  const { agent, model } = agentOf(responses)
  const first = await played(agent.stream('Go'))
  expect(did).toEqual(['book a 1 []', 'look 1', 'book b 1 []', 'looked'])
  expect(first.result.interrupts?.map(({ payload }) => payload)).toEqual([{ book: 'a' }, { book: 'b' }])
  expect(first.events.filter(({ type }) => type === 'tool-end')).toMatchObject([{ callId: 'call_1_2' }])

  did.length = 0
  const { result, events } = await played(agent.resume(checkpointOf(first.result), answersTo(first.result)))
  expect(did).toEqual(['book a 2 ["yes"]', 'book b 2 ["yes"]'])
  expect(textsOf(result)).toEqual(['Go', 'booked a: yes', 'seen', 'booked b: yes', 'Done'])
  expect(model.requests).toHaveLength(2)
  expect(events.slice(0, 2)).toMatchObject([
    { type: 'run-start', resumed: true },
    { type: 'step-start', step: 1 },
  ])
  expect(events.filter(({ type }) => type === 'tool-end')).toMatchObject([
    { callId: 'call_1_1' },
    { callId: 'call_1_3' },
  ])
})

test.each(['background work', 'a wrap'])(
  'a run that asks is not delayed by %s of an early call that waits for its response (L1, O10)',
  async (who) => {
    const later = tool({
      name: 'later',
      description: 'l',
      input: anything,
      background: true,
      execute: () => did.push('l'),
    })
    const patient: Middleware = {
      name: 'patient',
      async *wrapToolCall(one, next, run) {
        if (who === 'a wrap') await run.stood(one.id)
        return yield* next(one)
      },
      afterModel(_, run) {
        if (run.step === 1 && run.answers.length === 0) throw interrupt('Go on?')
      },
    }
    const answers = [respond(say('Done')), respond(say('Done'))]
    const { agent } = agentOf([respond(call(who === 'a wrap' ? 'look' : 'later')), ...answers], {
      tools: [later, look],
      middleware: [patient, early],
    })
    const first = await played(agent.stream('Go'))
    expect(first.result.status).toBe('interrupted')
    expect(did).toEqual([])
    const { result } = await played(agent.resume(checkpointOf(first.result), answersTo(first.result)))
    expect(result.status).toBe('completed')
    expect(did).toEqual(who === 'a wrap' ? ['look 1', 'looked'] : ['l'])
  },
)

function raise(error: unknown): never {
  throw error
}

test('with one slot a call that asks keeps later ones from starting; they start after the resume (A22, L6)', async () => {
  const responses = [
    respond(call('look'), call('book'), call('look', { n: 1 }), call('book', { what: 'b' })),
    respond(say('Done')),
  ]
  const { agent } = agentOf(responses, { toolConcurrency: 1 })
  const first = await played(agent.stream('Go'))
  expect(did).toEqual(['look 1', 'looked', 'book it 1 []'])
  expect(idsOf(first.result)).toHaveLength(1)
  const none = await played(agent.resume(checkpointOf(first.result)))
  expect(idsOf(none.result)).toEqual(idsOf(first.result))
  expect(did).toHaveLength(3)
  const second = await played(agent.resume(checkpointOf(none.result), answersTo(none.result)))
  expect(did.slice(3)).toEqual(['book it 2 ["yes"]', 'look 1', 'looked', 'book b 1 []'])
  const third = await played(agent.resume(checkpointOf(second.result), answersTo(second.result, 'B')))
  expect(textsOf(third.result)).toEqual(['Go', 'seen', 'booked it: yes', 'seen', 'booked b: B', 'Done'])
})

test('an AgentError of another call replaces a question: the run fails, and every call has a result (A12, A24)', async () => {
  const failure = new ModelError('no', { code: 'x', retryable: false })
  const broken: Tool = { ...book, name: 'broken', execute: () => raise(failure) }
  const { agent } = agentOf([respond(call('book'), call('broken'), call('look', { ms: 10 }))], {
    tools: [book, broken, look],
  })
  const reading = collect(agent.stream('Go'))
  await vi.runAllTimersAsync()
  expect((await reading).error).toBe(failure)
  expect(failure.messages?.filter(({ role }) => role === 'tool')).toHaveLength(3)
  expect(vi.getTimerCount()).toBe(0)
})

test('after a stop no timer is left, and the signal has only the listeners it had before (A25)', async () => {
  const signal = new AbortController().signal
  let listeners = 0
  const count =
    (method: 'addEventListener' | 'removeEventListener', by: number): typeof signal.addEventListener =>
    (...args: Parameters<typeof signal.addEventListener>) => {
      listeners += by
      AbortSignal.prototype[method].apply(signal, args)
    }
  Object.assign(signal, {
    addEventListener: count('addEventListener', 1),
    removeEventListener: count('removeEventListener', -1),
  })
  const { agent } = agentOf([respond(call('book'), call('look', { ms: 50 })), respond(say('Done'))])
  const first = await played(agent.stream('Go', { signal }))
  expect([listeners, vi.getTimerCount()]).toEqual([0, 0])
  await played(agent.resume(checkpointOf(first.result), answersTo(first.result), { signal }))
  expect([listeners, vi.getTimerCount()]).toEqual([0, 0])
})

test('an abort replaces a question while other calls finish (K11, A25)', async () => {
  const { agent } = agentOf([respond(call('book'), call('look', { ms: 5_000 }))])
  const controller = new AbortController()
  const reading = collect(agent.stream('Go', { signal: controller.signal }))
  await vi.advanceTimersByTimeAsync(100)
  controller.abort()
  await vi.advanceTimersByTimeAsync(1_001)
  expect((await reading).error).toMatchObject({ name: 'AbortError', abandoned: ['call_1_2'] })
})

test('progress and events of a call that asks come in order, and its wraps close (C15, B7)', async () => {
  const slow = tool({
    name: 'slow',
    description: 's',
    input: anything,
    async *execute(_, { answers }) {
      try {
        yield { message: 'asking' }
        if (answers.length === 0) throw interrupt()
        return 'ok'
      } finally {
        did.push('closed')
      }
    },
  })
  const outer: Middleware = {
    name: 'outer',
    wrapToolCall: (call, next) => map(next(call), (event) => event),
  }
  const { agent } = agentOf([respond(call('slow'), wait(5)), respond(say('Done'))], {
    tools: [slow],
    middleware: [outer],
  })
  const first = await played(agent.stream('Go'))
  expect(first.events.map(({ type }) => type).slice(-5)).toEqual([
    'tool-start',
    'tool-entered',
    'tool-progress',
    'question',
    'run-end',
  ])
  expect(did).toEqual(['closed'])
})
