import { call, collect, end, respond, say, wait } from '@meanwhile/assemble/testing'
import { expect, test, vi } from 'vitest'
import { early, startingEarly, withdrawing } from '../../test/early-calls.ts'
import { played } from '../../test/played-runs.ts'
import { answersTo, textsOf } from '../../test/results.ts'
import { travelAgent } from '../../test/travel-agent.ts'
import { type Checkpoint, interrupt, type Middleware } from '../index.ts'

const { did, agentOf, killed } = travelAgent()

test('a checkpoint contains the early calls: those that settled are joined, not repeated, and not undone by the stop (H27, O9)', async () => {
  const { checkpoints, id } = await killed([respond(call('read'), call('hold'), wait(100), say('late'))], 50, {
    middleware: [early],
  })
  const { agent } = agentOf([respond(call('read'), call('hold')), respond(say('Done'))], { checkpoints })
  const { result, events } = await played(agent.resume(id))
  // The abort of the run in this test undid it; a killed process could not.
  expect(did).toEqual([])
  expect(textsOf(result)).toEqual(['Go', 'read done', 'hold done', 'Done'])
  expect(events.flatMap((event) => ('callId' in event ? [event.type] : []))).toEqual([
    'tool-committed',
    'tool-end',
    'tool-committed',
    'tool-end',
  ])
})

test('a stop with a checkpoint undoes none of the early calls in it; a later discard does (H23, H27, H39)', async () => {
  let asks = true
  const asking: Middleware = {
    name: 'asking',
    async *wrapModel(request, next) {
      const message = yield* next(request)
      if (asks) throw interrupt('good?')
      return message
    },
  }
  const { agent } = agentOf([respond(call('hold'))], { middleware: [asking, early] })
  const first = await played(agent.stream('Go'))
  expect(did).toEqual(['hold 1'])
  expect(first.events.filter(({ type }) => type === 'tool-discarded')).toEqual([])
  asks = false
  const same = agentOf([respond(call('hold')), respond(say('Done'))], { middleware: [asking, early] })
  const joined = await played(same.agent.resume(first.checkpoint as Checkpoint, answersTo(first.result)))
  expect(did).toEqual(['hold 1'])
  expect(textsOf(joined.result)).toEqual(['Go', 'hold done', 'Done'])
  const other = agentOf([respond(say('Done'))], { middleware: [asking, early] })
  await played(other.agent.resume(first.checkpoint as Checkpoint, answersTo(first.result)))
  expect(did).toEqual(['hold 1', 'undid hold'])
})

test.each(['a', 'b'])(
  'if a cancelled response has two equal calls, each is made once, although %s was made early (H11, H27, K15)',
  async (made) => {
    const both = ['a', 'b'].map((id) => call('hold', {}, { id }))
    const first = agentOf([respond(...both, wait(100))], {
      middleware: [startingEarly({ only: ({ id }) => id === made })],
    })
    const run = first.agent.stream('Go')
    const reading = collect(run)
    await vi.advanceTimersByTimeAsync(50)
    void run.cancel({ at: 'after-model' })
    await vi.runAllTimersAsync()
    const { result } = await reading
    expect(result?.checkpoint?.calls).toMatchObject([{ id: made, fate: 'provisional', message: { callId: made } }])
    const { agent } = agentOf([respond(say('Done'))])
    const { result: resumed } = await played(agent.resume(result?.checkpoint as Checkpoint))
    expect(did).toEqual(['hold 1', 'hold 1'])
    expect(resumed.messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))).toEqual(['a', 'b'])
  },
)

test('an early call that was cut off is made again if it is a requested read, and is otherwise unknown (O9)', async () => {
  const responses = [respond(call('read', { ms: 500 }), call('put', { ms: 500 }), wait(100), say('late'))]
  const first = agentOf(responses, { middleware: [early] })
  const run = first.agent.stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(50)
  void run.cancel()
  await vi.runAllTimersAsync()
  const { result } = await reading
  expect(result?.status).toBe('cancelled')
  did.length = 0
  const { agent } = agentOf([respond(call('read', { ms: 500 }), call('put', { ms: 500 })), respond(say('Done'))])
  const resumed = await played(agent.resume(result?.checkpoint as Checkpoint))
  expect(did).toEqual(['read 2'])
  expect(resumed.result.unknown).toEqual(['call_1_2_1'])
  expect(resumed.result.messages.filter(({ role }) => role === 'tool')).toMatchObject([
    { callId: 'call_1_1_1' },
    { callId: 'call_1_2_1', isError: true },
  ])
})

test('an early reversible call that was cut off and is not requested after the resume may have happened: a warning states that it is not undone (H23, O9)', async () => {
  const first = agentOf([respond(call('hold', { ms: 500 }), wait(100), say('late'))], { middleware: [early] })
  const run = first.agent.stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(50)
  void run.cancel()
  await vi.runAllTimersAsync()
  const { result } = await reading
  did.length = 0
  const { agent } = agentOf([respond(say('Done'))], { middleware: [early] })
  const resumed = await played(agent.resume(result?.checkpoint as Checkpoint))
  expect(did).toEqual([])
  expect(textsOf(resumed.result)).toEqual(['Go', 'Done'])
  expect(resumed.result.warnings).toEqual([
    {
      code: 'compensation-failed',
      message:
        'hold: the call may have happened before the run was resumed; its output is unknown, so it is not undone',
      source: 'core',
    },
  ])
})

test('the question of an early call appears when the loop requests the call, at its normal address; if the call is discarded, it never appears (O7)', async () => {
  const { agent } = agentOf([respond(call('book'), say('wait'), wait(50)), respond(say('Done'))], {
    middleware: [early],
  })
  const first = await played(agent.stream('Go'))
  expect(first.result.interrupts).toMatchObject([
    { address: [{ agent: 'travel' }, { tool: 'book', callId: 'call_1_1' }] },
  ])
  const types = first.events.flatMap((event) => ('callId' in event ? [event.type] : []))
  expect(types).toEqual(['tool-start', 'tool-entered', 'tool-committed', 'question'])
  const second = await played(agent.resume(first.checkpoint as Checkpoint, answersTo(first.result)))
  expect(did).toEqual(['book 1 []', 'book 2 ["yes"]'])
  expect(textsOf(second.result)).toEqual(['Go', 'wait', 'booked: yes', 'Done'])
  expect(second.events.flatMap((event) => ('callId' in event ? [event.type] : []))).toEqual([
    'tool-start',
    'tool-entered',
    'tool-end',
  ])

  const unheard = agentOf([respond(call('book'), end({ finishReason: 'length' })), respond(say('Done'))], {
    middleware: [early],
  })
  expect((await played(unheard.agent.stream('Go'))).result).toMatchObject({ status: 'completed', text: 'Done' })
})

test('with one slot an early call that asks and is then discarded blocks no other call (O7, A22)', async () => {
  const { agent } = agentOf([respond(call('book'), call('send')), respond(say('Done'))], {
    middleware: [withdrawing('book'), early],
    toolConcurrency: 1,
  })
  const { result } = await played(agent.stream('Go'))
  expect(result).toMatchObject({ status: 'completed', text: 'Done' })
  expect(did).toEqual(['book 1 []', 'send 1'])

  did.length = 0
  const kept = agentOf([respond(call('book'), call('send')), respond(say('Done'))], {
    middleware: [early],
    toolConcurrency: 1,
  })
  const first = await played(kept.agent.stream('Go'))
  expect(did).toEqual(['book 1 []'])
  const second = await played(kept.agent.resume(first.checkpoint as Checkpoint, answersTo(first.result)))
  expect(did).toEqual(['book 1 []', 'book 2 ["yes"]', 'send 1'])
  expect(second.result.status).toBe('completed')
})
