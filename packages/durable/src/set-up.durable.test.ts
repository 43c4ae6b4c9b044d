import { postgresStore } from '@meanwhile/stores/postgres'
import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { recordedRuns, TWO_STEPS } from '../test/recorded-runs.ts'
import { all } from '../test/runs.ts'
import { DurableSetUpError, setUpDurable } from './index.ts'

const { here, runsOf, work, agentOf } = recordedRuns()

test('a server or database that does not exist, missing tables, tables of another version, and a wrong name have clear errors', async () => {
  const elsewhere = (part: 'port' | 'pathname', value: string) => {
    const pool = new Pool({ connectionString: Object.assign(new URL(here.database.url), { [part]: value }).href })
    return { pool, runs: runsOf(agentOf(TWO_STEPS), { pool, store: postgresStore({ pool }) }) }
  }
  const unreachable = elsewhere('port', '1')
  await expect(unreachable.runs.get('run')).rejects.toMatchObject({ name: 'DurableStoreError', code: 'ECONNREFUSED' })
  await expect(unreachable.runs.start('clerk', 'Go')).rejects.toThrow('the database has failed')
  await expect(setUpDurable({ pool: unreachable.pool })).rejects.toThrow('ECONNREFUSED')
  const nameless = elsewhere('pathname', '/nobody')
  for (const ask of [
    () => nameless.runs.get('run'),
    () => nameless.runs.start('clerk', 'Go'),
    () => nameless.runs.send('run', 'Hello?'),
    () => nameless.runs.result('run'),
    () => all(nameless.runs.events('run')),
  ])
    await expect(ask()).rejects.toThrow(`schema "${here.schema}": the database does not exist`)
  await Promise.all([unreachable.pool.end(), nameless.pool.end()])

  const bare = runsOf(agentOf(TWO_STEPS), { schema: 'nothing_here' })
  await expect(bare.get('run')).rejects.toThrow(DurableSetUpError)
  await expect(bare.get('run')).rejects.toThrow(
    'schema "nothing_here": its tables are missing: call setUpDurable first',
  )
  await here.pool.query(
    'CREATE SCHEMA IF NOT EXISTS foreign_one; CREATE TABLE IF NOT EXISTS foreign_one.runs (id text PRIMARY KEY)',
  )
  await expect(setUpDurable({ pool: here.pool, schema: 'foreign_one' })).rejects.toThrow('made by another version')
  // Tables of another version, without a call of setUpDurable.
  const old = runsOf(agentOf(TWO_STEPS))
  await here.pool.query(`ALTER TABLE ${here.schema}.runs DROP COLUMN attempts`)
  for (const ask of [() => old.get('run'), () => old.start('clerk', 'Go', { id: 'run' })])
    await expect(ask()).rejects.toThrow('its tables were made by another version, or by another program')
  expect(() => runsOf(agentOf([]), { schema: 'no name' })).toThrow('schema: must be a name')
})

test('many processes may call setUpDurable at once (DU11)', async () => {
  const pools = Array.from({ length: 8 }, () => here.database.pool(2))
  await Promise.all(pools.map((one) => setUpDurable({ pool: one, schema: 'all_at_once' })))
  const runs = runsOf(agentOf(TWO_STEPS), {
    schema: 'all_at_once',
    store: postgresStore({ pool: here.pool, schema: 'all_at_once' }),
  })
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  expect((await runs.result('run')).text).toBe('Done.')
})
