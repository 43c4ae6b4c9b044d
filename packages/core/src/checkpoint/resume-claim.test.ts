import { call, collect, end, respond, say, wait } from '@meanwhile/assemble/testing'
import { expect, test, vi } from 'vitest'
import { sleep } from '../../test/clock.ts'
import { early } from '../../test/early-calls.ts'
import { played, settled } from '../../test/played-runs.ts'
import { answersTo, textsOf } from '../../test/results.ts'
import { travelAgent } from '../../test/travel-agent.ts'
import {
  type Checkpoint,
  CheckpointConflictError,
  type CheckpointStore,
  interrupt,
  type Middleware,
  memoryStore,
  UnknownInterruptError,
} from '../index.ts'

const { did, agentOf } = travelAgent()

test('if two processes resume one stored checkpoint, one continues; the other runs nothing (L19)', async () => {
  const checkpoints = memoryStore()
  const { agent, model } = agentOf([respond(call('book')), respond(say('Done'))], { checkpoints })
  const { result } = await played(agent.stream('Go'))
  did.length = 0
  const id = result.checkpoint?.runId ?? ''
  const runs = [agent.resume(id, answersTo(result)), agent.resume(result.checkpoint as Checkpoint, answersTo(result))]
  const ends = await Promise.all(runs.map(settled))
  expect(ends.map(({ result }) => result?.text).filter(Boolean)).toEqual(['Done'])
  expect(ends.map(({ error }) => error).filter(Boolean)).toEqual([expect.any(CheckpointConflictError)])
  expect(ends.find(({ error }) => error)?.error).toMatchObject({
    message: expect.stringMatching(/is stored: another process has saved or resumed this run$/),
  })
  expect(did).toEqual(['book 2 ["yes"]'])
  expect(model.requests).toHaveLength(2)
})

test('a resumed run makes no model call and no tool call before its claim is saved (MA19, L19)', async () => {
  const inner = memoryStore()
  const stored = { ms: 0 }
  const checkpoints: CheckpointStore = {
    ...inner,
    save: (id, checkpoint, expected) => sleep(stored.ms).then(() => inner.save(id, checkpoint, expected)),
  }
  const ask: Middleware = {
    name: 'ask',
    beforeModel: (_, run) => {
      if (run.answers.length === 0) throw interrupt('go on?')
    },
  }
  const first = agentOf([respond(call('book'))], { checkpoints })
  const { result: atCall } = await played(first.agent.stream('Go'))
  const second = agentOf([respond(say('Done'))], { checkpoints, middleware: [ask] })
  const { result: atModel } = await played(second.agent.stream('Go'))
  did.length = 0
  stored.ms = 1_000
  const reading = [
    collect(first.agent.resume(atCall.checkpoint as Checkpoint, answersTo(atCall))),
    collect(second.agent.resume(atModel.checkpoint as Checkpoint, answersTo(atModel))),
  ]
  await vi.advanceTimersByTimeAsync(999)
  expect(did).toEqual([])
  expect(second.model.requests).toHaveLength(0)
  await vi.advanceTimersByTimeAsync(2)
  expect(second.model.requests).toHaveLength(1)
  await vi.runAllTimersAsync()
  await Promise.all(reading)
  expect(did).toEqual(['book 2 ["yes"]'])
})

test('a run that another process has resumed in the meantime stops (L19, L14)', async () => {
  const checkpoints = memoryStore()
  const { agent } = agentOf([respond(call('read', { ms: 100 })), respond(call('send')), respond(say('Late'))], {
    checkpoints,
  })
  const run = agent.stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(50)
  const other = agentOf([respond(say('Taken'))], { checkpoints })
  const taken = collect(other.agent.resume(run.id))
  await vi.runAllTimersAsync()
  expect((await taken).result?.text).toBe('Taken')
  expect((await reading).error).toBeInstanceOf(CheckpointConflictError)
  expect(did).not.toContain('send 1')
})

test('a run that another process has resumed undoes none of its early calls: the other process continues with them (L19, H23)', async () => {
  const checkpoints = memoryStore()
  const responses = (ms: number) => [respond(call('hold'), wait(ms), say('late')), respond(say('Done'))]
  const first = agentOf(responses(500), { checkpoints, middleware: [early] }).agent.stream('Go')
  const reading = collect(first)
  await vi.advanceTimersByTimeAsync(50)
  const second = collect(agentOf(responses(20), { checkpoints, middleware: [early] }).agent.resume(first.id))
  await vi.runAllTimersAsync()
  expect((await reading).error).toBeInstanceOf(CheckpointConflictError)
  const { result } = await second
  expect(result && textsOf(result)).toEqual(['Go', 'late', 'hold done', 'Done'])
  expect(did).toEqual(['hold 1'])
})

test('a completed run returns its result again, without any call (L19)', async () => {
  const checkpoints = memoryStore()
  const noting: Middleware = { name: 'noting', beforeAgent: () => void did.push('beforeAgent') }
  const { agent, model } = agentOf([respond(call('read')), respond(say('Done'), end({ usage: { inputTokens: 1 } }))], {
    checkpoints,
    middleware: [noting],
  })
  const { result, events } = await played(agent.stream('Go'))
  did.length = 0
  const again = await played(agent.resume(events[0]?.runId ?? ''))
  expect(again.result).toEqual(result)
  expect(again.events.map(({ type }) => type)).toEqual(['run-start', 'run-end'])
  expect([did, model.requests.length]).toEqual([[], 2])
  await expect(agent.resume(events[0]?.runId ?? '', { x: 1 }).result).rejects.toBeInstanceOf(UnknownInterruptError)
})
