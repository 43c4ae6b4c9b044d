import { call, respond, say } from '@meanwhile/core/testing'
import { expect, test } from 'vitest'
import { QUESTION, recordedRuns } from '../test/recorded-runs.ts'
import { status } from '../test/runs.ts'
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
