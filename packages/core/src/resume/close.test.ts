import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { asking, checkpointIn, failure, interrupted, result, said, working } from '../../test/conversation.ts'
import { user } from '../../test/messages.ts'
import { settled as played } from '../../test/played-runs.ts'
import { answersTo } from '../../test/results.ts'
import {
  agentTool,
  type Checkpoint,
  createAgent,
  hasFinalAnswer,
  interrupt,
  type Middleware,
  memoryStore,
  type Tool,
  textOf,
} from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: 0 })
  return () => vi.useRealTimers()
})

test('close answers open calls with the reason and keeps settled ones, without hook or model (CC3)', async () => {
  const { agent, model, hooks, checkpoint } = await interrupted()
  const [before, requests] = [[...hooks], model.requests.length]
  const closed = await agent.close(checkpoint, { reason: 'The user wrote instead.' })
  expect([hooks, model.requests.length]).toEqual([before, requests])
  const messages = [
    user('Go'),
    expect.objectContaining({ role: 'assistant' }),
    result('a', 'look'),
    failure('b', 'ask', 'The user wrote instead.'),
  ]
  expect(closed).toEqual({
    status: 'cancelled',
    cancelled: { at: 'now' },
    text: '',
    messages,
    steps: 1,
    usage: {},
    warnings: [],
    checkpoint: expect.objectContaining({ runId: 'r', status: 'cancelled', messages, calls: [], interrupts: [] }),
  })
  const next = await played(agent.stream([...closed.messages, user('Never mind')]))
  expect(next.result?.text).toBe('Well')
  const [byDefault] = (await agent.close(checkpoint)).messages.slice(-1)
  expect(byDefault && textOf(byDefault)).toBe('No result: the run was closed before this call had one.')
})

test('a closed run in a store is closed for every process, and the history of a resume contains the reason (CC3, L14, L19)', async () => {
  const store = memoryStore()
  const { agent, checkpoint, result: outcome } = await interrupted({ checkpoints: store })
  await agent.close('r', { reason: 'Over.' })
  const late = await played(agent.resume(checkpoint, answersTo(outcome)))
  expect(late.error).toMatchObject({ name: 'CheckpointConflictError' })
  await expect(agent.close(checkpoint)).rejects.toMatchObject({ name: 'CheckpointConflictError' })
  expect((await played(agent.resume('r', answersTo(outcome)))).error).toMatchObject({ name: 'UnknownInterruptError' })
  const resumed = await played(agent.resume('r'))
  expect(resumed.result?.messages.slice(3)).toEqual([failure('b', 'ask', 'Over.'), said('Well')])
})

test('a stopped run is closed with its partial response, the calls that may have happened, and the sent messages (CC3, P8, L21)', async () => {
  const speaking = createAgent({ model: scriptedModel([respond(say('One', { deltas: 1 }), wait(50))]) })
  const talk = speaking.stream('Go')
  setTimeout(() => void talk.cancel(), 10)
  const closed = await speaking.close(checkpointIn((await played(talk)).result))
  expect(closed.messages).toEqual([user('Go'), said('One', { finishReason: 'other', cutOff: true })])

  const child = createAgent({
    name: 'child',
    description: 'c',
    model: scriptedModel([respond(call('send', {}, { id: 'x' }))]),
    tools: [working('send', 50, 'external')],
  })
  const agent = createAgent({
    model: scriptedModel([
      respond(
        call('send', {}, { id: 'a' }),
        call('look', {}, { id: 'b' }),
        call('child', { request: 'Go' }, { id: 'c' }),
      ),
    ]),
    tools: [working('send', 50, 'external'), working('look', 50), agentTool(child) as Tool],
  })
  const run = agent.stream('Go')
  setTimeout(() => {
    run.send('Stop!')
    void run.cancel()
  }, 20)
  const { unknown, messages } = await agent.close(checkpointIn((await played(run)).result), { reason: 'Stopped.' })
  const cutOff =
    'This call had started when the run was cancelled. Its result is unknown: it may have happened. It was not run again. Stopped.'
  expect(unknown).toEqual(['a', 'c/x'])
  expect(messages.slice(2)).toEqual([
    failure('a', 'send', cutOff),
    failure('b', 'look', 'Stopped.'),
    failure('c', 'child', `${cutOff}\nInside this call:\n- send {} has no result: it may have happened.`),
    user('Stop!'),
  ])
})

test('close refuses what it cannot close, and changes nothing (CC3, L18)', async () => {
  const { agent, checkpoint } = await interrupted()
  const { result: over } = await played(agent.resume(checkpoint, answersTo(checkpoint)))
  expect(over?.status).toBe('completed')
  const store = memoryStore()
  const done = createAgent({ model: scriptedModel([respond(say('Hi'))]), checkpoints: store })
  await played(done.stream('Go', { id: 'done' }))
  for (const [closing, name] of [
    [done.close('done'), 'CheckpointError'],
    [done.close('nothing'), 'CheckpointMissingError'],
    [agent.close('r'), 'ConfigError'],
    [agent.close({ ...checkpoint, steps: { ...checkpoint.steps, begun: 5 } }), 'CheckpointCorruptError'],
    [createAgent({ name: 'other', model: scriptedModel([]) }).close(checkpoint), 'CheckpointMismatchError'],
    [agent.close(checkpoint, { reson: 'x' } as object), 'ConfigError'],
  ] as const) {
    await expect(closing).rejects.toMatchObject({ name })
  }
})

test('hasFinalAnswer shows for every checkpoint whether its answer was accepted, so that a resume judges none (CC3, L11, L19)', async () => {
  let judged = 0
  const signing: Middleware = {
    name: 'sign',
    beforeFinalAnswer: () => void judged++,
    async *wrapAgent(setup, next, { answers: [first] }) {
      const outcome = yield* next(setup)
      if (first === undefined) throw interrupt('Sign it?')
      return outcome
    },
  }
  const saved: Checkpoint[] = []
  const store = memoryStore()
  const checkpoints: typeof store = {
    ...store,
    async save(id, checkpoint, expected) {
      await store.save(id, checkpoint, expected)
      saved.push((await store.load(id)) as Checkpoint)
    },
  }
  const { agent, result: outcome } = await interrupted({ checkpoints, middleware: [signing] })
  const second = await played(agent.resume('r', answersTo(outcome)))
  await played(agent.resume('r', answersTo(second.result)))
  const told: [string, boolean, number][] = []
  for (const checkpoint of saved) {
    const { status, messages } = checkpoint
    const answer = respond(say('Well'))
    const model = scriptedModel(messages.length > 1 ? [answer] : [respond(call('look', {}, { id: 'a' })), answer])
    const other = createAgent({ model, tools: [working('look', 10), asking('ask')], middleware: [signing] })
    judged = 0
    let { result } = await played(other.resume(checkpoint, answersTo(checkpoint)))
    if (result?.status === 'interrupted')
      result = (await played(other.resume(result.checkpoint, answersTo(result)))).result
    told.push([status, hasFinalAnswer(checkpoint), judged])
  }
  const accepted = told.splice(told.findIndex(([, isOver]) => isOver))
  expect(new Set(told.map(String))).toEqual(new Set(['running,false,1', 'interrupted,false,1']))
  expect(accepted).toEqual(['interrupted', 'running', 'completed'].map((status) => [status, true, 0]))
  expect([undefined, null, 'r', {}, { steps: null }].filter(hasFinalAnswer)).toEqual([])
})
