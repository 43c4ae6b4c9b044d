import { call, respond, say } from '@meanwhile/assemble/testing'
import { type CheckpointStore, textOf } from '@meanwhile/core'
import { postgresStore } from '@meanwhile/stores/postgres'
import { expect, test } from 'vitest'
import { QUESTION, recordedRuns } from '../test/recorded-runs.ts'
import { all, status } from '../test/runs.ts'
import { RunFailedError, UnknownRunError } from './index.ts'

const { here, runsOf, work, executed, post, gate, agentOf } = recordedRuns()

test('a run whose checkpoint is deleted fails, and none of its calls is made again (DU1)', async () => {
  const held = gate('hold')
  const runs = runsOf(
    agentOf([respond(call('hold')), respond(call('post')), respond(say('Done.'))], { tools: [held.tool, post] }),
  )
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await held.entered
  await here.pool.query(`TRUNCATE ${here.schema}.checkpoints`)
  held.open()
  await expect(runs.result('run')).rejects.toThrow(RunFailedError)
  expect((await runs.get('run'))?.error?.name).toBe('CheckpointMissingError')
  expect(executed).toEqual(['hold'])
})

test('delete removes a run with its checkpoint, answers and events, and a running run stops', async () => {
  const held = gate('hold')
  const runs = runsOf(
    agentOf([respond(call('hold')), respond(call('post')), respond(say('Done.'))], { tools: [held.tool, post] }),
  )
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await held.entered
  await runs.delete('run')
  await runs.delete('run')
  held.open()
  expect(await runs.get('run')).toBeUndefined()
  for (const name of ['runs', 'answers', 'inbox', 'events', 'checkpoints'])
    expect((await here.pool.query(`SELECT 1 FROM ${here.schema}.${name}`)).rows).toEqual([])
  await expect(runs.result('run')).rejects.toThrow(UnknownRunError)
  await expect(runs.send('run', 'Hello?')).rejects.toThrow(UnknownRunError)
  await expect(runs.cancel('run')).rejects.toThrow(UnknownRunError)
  await expect(runs.answer('run', {})).rejects.toThrow(UnknownRunError)
  await expect(runs.retry('run')).rejects.toThrow(UnknownRunError)
  expect(executed).not.toContain('post')
})

test('prune deletes only runs that have ended, with their checkpoints', async () => {
  const runs = runsOf(agentOf(QUESTION))
  await work(runs)
  for (const id of ['asking', 'cancelled']) {
    await runs.start('clerk', 'Go', { id })
    await status(runs, id, 'interrupted')
  }
  await runs.cancel('cancelled')
  expect(await runs.prune({ olderThan: Date.now() - 60_000 })).toBe(0)
  expect(await runs.prune({ olderThan: Date.now() + 60_000 })).toBe(1)
  expect([(await runs.get('asking'))?.status, await runs.get('cancelled')]).toEqual(['interrupted', undefined])
  expect((await here.pool.query(`SELECT key FROM ${here.schema}.checkpoints`)).rows).toEqual([{ key: 'asking' }])
})

test('a deletion whose process dies half-way is finished by a worker, and until then the run does not exist (DU1)', async () => {
  const store = postgresStore({ pool: here.pool, schema: here.schema })
  const dying: CheckpointStore = { ...store, delete: () => Promise.reject(new Error('it dies here')) }
  const agent = agentOf([respond(say('Done.'))])
  const runs = runsOf(agent)
  const half = runsOf(agent, { store: dying })
  for (const id of ['run', 'other']) await runs.start('clerk', 'Go', { id })
  const worker = await work(runs)
  for (const id of ['run', 'other']) await runs.result(id)
  await worker.stop()
  await expect(half.delete('run')).rejects.toThrow('it dies here')
  await expect(half.prune({ olderThan: Date.now() + 60_000 })).rejects.toThrow('it dies here')
  expect(await runs.get('run')).toBeUndefined()
  await expect(runs.result('run')).rejects.toThrow(UnknownRunError)
  await expect(all(runs.events('other', { follow: false }))).rejects.toThrow(UnknownRunError)
  await work(runsOf(agent))
  for (const name of ['runs', 'events', 'checkpoints'])
    await expect.poll(async () => (await here.pool.query(`SELECT 1 FROM ${here.schema}.${name}`)).rows).toEqual([])
})

test('the id of a run whose deletion is not finished can be started again (DU1)', async () => {
  const store = postgresStore({ pool: here.pool, schema: here.schema })
  const dying: CheckpointStore = { ...store, delete: () => Promise.reject(new Error('it dies here')) }
  const agent = agentOf([respond(say('Done.'))])
  const runs = runsOf(agent)
  await runs.start('clerk', 'Go', { id: 'run' })
  await expect(runsOf(agent, { store: dying }).delete('run')).rejects.toThrow('it dies here')
  await runs.start('clerk', 'Go again', { id: 'run' })
  await work(runs)
  expect((await runs.result('run')).messages.map(textOf)).toEqual(['Go again', 'Done.'])
})
