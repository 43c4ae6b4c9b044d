import { respond, say } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { postgresStore } from '@meanwhile/stores/postgres'
import { expect, test } from 'vitest'
import { scripted, status, testRuns } from '../test/runs.ts'

const trial = testRuns()

const clerk = createAgent({ name: 'clerk', model: scripted(respond(say('Done.'))) })

test('more runs than the pool has connections are deleted and pruned at once', async () => {
  const pool = trial.database.pool(3)
  const runs = trial.runsOf(clerk, { pool, store: postgresStore({ pool, schema: trial.schema }) })
  await trial.work(runs)
  const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
  await Promise.all(ids.map((id) => runs.start('clerk', 'Go', { id })))
  await Promise.all(ids.map((id) => status(runs, id, 'completed')))

  await Promise.all(ids.slice(0, 6).map((id) => runs.delete(id)))
  const pruned = await Promise.all([1, 2, 3, 4].map(() => runs.prune({ olderThan: Date.now() + 60_000 })))

  expect(pruned.reduce((sum, one) => sum + one, 0)).toBe(2)
  const { rows } = await pool.query(`SELECT key FROM ${trial.schema}.checkpoints`)
  expect(rows).toEqual([])
})

test('a worker that could not start leaves no connection open', async () => {
  const pool = trial.database.pool(3)
  const work = () => Promise.reject(new Error('the queue is not there'))
  const runs = trial.runsOf(clerk, { pool, engine: { ...trial.engine, work } })

  await expect(runs.work()).rejects.toThrow('the queue is not there')

  await expect.poll(() => pool.totalCount - pool.idleCount, { timeout: 60_000 }).toBe(0)
})
