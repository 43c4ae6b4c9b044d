import { createDatabase } from '@meanwhile/postgres-cluster'
import { Pool } from 'pg'
import { expect, test, vi } from 'vitest'
import { testDatabase } from '../test/database.ts'
import { openDbos } from '../test/dbos-driver.ts'
import { Fleet, pause } from '../test/fleet.ts'
import type { PostgresPool } from './index.ts'
import { engineContract } from './testing.ts'

const database = testDatabase()

// DBOS exists once per process, so no second one can be elsewhere.
const contract = engineContract(async () => ({
  ...(await openDbos(await createDatabase(database.url), 'contract')),
  hasPriorities: false,
}))

for (const { name, run } of contract) {
  test(`dbos: ${name} (DU7)`, async () => {
    await expect(run()).resolves.toBeUndefined()
  })
}

test('dbos: heartbeats that hang in the database do not pile up, and continue when it responds again', async () => {
  const url = await createDatabase(database.url)
  const pool = new Pool({ connectionString: url, max: 4 })
  pool.on('error', () => {})
  let isHanging = false
  let beats = 0
  const slow: PostgresPool = {
    connect: () => pool.connect(),
    query(text, values) {
      if (!text.includes('dbos_workers AS known')) return pool.query(text, values)
      beats++
      return isHanging ? new Promise(() => undefined) : pool.query(text, values)
    },
  }
  const { engine, close } = await openDbos(url, 'beating', { pool: slow, heartbeat: 20, deadAfter: 1_000 })
  await engine.setUp?.()
  const worker = await engine.work(async () => undefined, { concurrency: 1 })
  try {
    isHanging = true
    await pause(200)
    const before = beats
    await pause(700)
    expect(beats).toBe(before)
    isHanging = false
    await vi.waitFor(() => expect(beats).toBeGreaterThan(before + 2), 60_000)
  } finally {
    await worker.stop()
    await close()
    await pool.end()
  }
})

test('dbos: a run is continued if its worker was considered dead, took the run before its next heartbeat, and died (DU10)', async () => {
  const fleet = await Fleet.open({ driver: 'dbos', url: await createDatabase(database.url) })
  try {
    const first = await fleet.spawn({ heartbeat: 600_000 })
    await fleet.pool.query('DELETE FROM meanwhile.dbos_workers')
    await fleet.runs.start('clerk', 'Go', { id: 'run' })
    await fleet.workerOf('run')
    await fleet.kill(first)
    await fleet.spawn()
    expect((await fleet.end('run')).problems).toEqual([])
  } finally {
    await fleet.close()
  }
})

test('dbos: a run is continued if its worker lives, and lost the connection when the database gave it the run (DU10)', async () => {
  const fleet = await Fleet.open({ driver: 'dbos', url: await createDatabase(database.url) })
  try {
    await fleet.spawn()
    const { rows } = await fleet.pool.query('SELECT id FROM meanwhile.dbos_workers')
    await fleet.pool.query(
      `CREATE FUNCTION given_unheard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NOT EXISTS (SELECT FROM dbos.workflow_status WHERE name = NEW.name) THEN
          NEW.status := 'PENDING'; NEW.executor_id := '${rows[0]?.id}'; NEW.started_at_epoch_ms := 1;
        END IF;
        RETURN NEW;
      END $$`,
    )
    await fleet.pool.query(
      'CREATE TRIGGER given_unheard BEFORE INSERT ON dbos.workflow_status FOR EACH ROW EXECUTE FUNCTION given_unheard()',
    )
    await fleet.runs.start('clerk', 'Go', { id: 'run' })
    expect((await fleet.end('run')).problems).toEqual([])
  } finally {
    await fleet.close()
  }
})
