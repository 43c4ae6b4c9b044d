import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { interrupted } from '../../test/conversation.ts'
import { settled as played } from '../../test/played-runs.ts'
import { createAgent, memoryStore } from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: 0 })
  return () => vi.useRealTimers()
})

test('a run has the id and the store from its options, and of several with one id one continues (CC5, L14)', async () => {
  const [own, given] = [memoryStore(), memoryStore()]
  const { agent } = await interrupted({ checkpoints: own }, 'mine')
  const { agent: other } = await interrupted({ checkpoints: own }, 'other')
  expect(await own.load('mine')).toMatchObject({ runId: 'mine', status: 'interrupted' })
  const run = other.stream('Go', { id: 'theirs', checkpoints: given })
  expect(run.id).toBe('theirs')
  await played(run)
  expect(await own.load('theirs')).toBeUndefined()
  expect(await given.load('theirs')).toMatchObject({ runId: 'theirs', status: 'completed' })
  const again = await played(agent.resume('theirs', {}, { checkpoints: given }))
  expect(again.result).toMatchObject({ status: 'completed', text: 'Well' })
  const twice = createAgent({ model: scriptedModel([respond(say('Hi'))]), checkpoints: own })
  expect((await played(twice.stream('Go', { id: 'mine' }))).error).toMatchObject({ name: 'CheckpointConflictError' })
})

test.each([
  [{ id: '' }, 'id', 'id: must be a non-empty string'],
  [{ id: 5 }, 'id', 'id: must be a non-empty string'],
  [{ checkpoints: {} }, 'checkpoints', 'must be a store'],
] as const)('the options %j of a run are refused (CC5, A2)', async (options, option, problem) => {
  const agent = createAgent({ model: scriptedModel([respond(say('Hi'))]) })
  const error = { name: 'ConfigError', option, message: expect.stringContaining(problem) }
  await expect(agent.run('Go', options as object)).rejects.toMatchObject(error)
})

test('a resume accepts no id, because its run has one (CC5)', async () => {
  const { agent, checkpoint } = await interrupted()
  const { error } = await played(agent.resume(checkpoint, {}, { id: 'x' } as object))
  expect(error).toMatchObject({ name: 'ConfigError', option: 'id' })
})
