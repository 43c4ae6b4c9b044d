import { setTimeout as pause } from 'node:timers/promises'
import { createDatabase } from '@meanwhile/postgres-cluster'
import { PgBoss } from 'pg-boss'
import { expect, test } from 'vitest'
import { testDatabase } from '../test/database.ts'
import type { Engine } from './engine.ts'
import { type PgBossOptions, pgBossEngine } from './pg-boss.ts'
import { engineContract } from './testing.ts'

const database = testDatabase()

const contract = engineContract(async () => {
  const url = await createDatabase(database.url)
  const [boss, other] = [0, 1].map(
    () => new PgBoss({ connectionString: url, max: 4, monitorIntervalSeconds: 1, superviseIntervalSeconds: 1 }),
  )
  if (!boss || !other) throw new Error('two were made')
  for (const one of [boss, other]) one.on('error', () => {})
  return {
    engine: pgBossEngine(boss),
    elsewhere: pgBossEngine(other),
    // Its next heartbeat may come before anybody notices that the last one is old.
    lose: async () => {
      const isOld = `UPDATE pgboss.job SET heartbeat_on = now() - interval '1 hour' WHERE state = 'active' AND retry_count = 0 RETURNING id`
      while ((await boss.getDb().executeSql(isOld)).rows.length > 0) await pause(50)
    },
    close: async () => {
      await Promise.all([boss, other].map((one) => one.stop({ graceful: false })))
    },
  }
})

for (const { name, run } of contract) {
  test.concurrent(`pg-boss: ${name} (DU7)`, async () => {
    await expect(run()).resolves.toBeUndefined()
  })
}

/** Returns when the calls came, in milliseconds after the wakes. */
async function timesOfCalls(
  options: PgBossOptions,
  wakes: (engine: Engine) => Promise<void>,
): Promise<readonly number[]> {
  const boss = new PgBoss({ connectionString: await createDatabase(database.url), max: 4, useListenNotify: true })
  boss.on('error', () => {})
  try {
    const engine = pgBossEngine(boss, options)
    await engine.setUp?.()
    const times: number[] = []
    const worker = await engine.work(
      async () => {
        times.push(Date.now() - begun)
      },
      { concurrency: 2 },
    )
    // Its first poll finds nothing.
    await new Promise((resolve) => setTimeout(resolve, 500))
    const begun = Date.now()
    await wakes(engine)
    await expect.poll(() => times.length, { timeout: 60_000 }).toBe(1)
    await worker.stop()
    return times
  } finally {
    await boss.stop({ graceful: false })
  }
}

test('a pg-boss that listens takes a run at once, however rarely it polls its queue (DU7)', async () => {
  const [first] = await timesOfCalls({ pollingIntervalSeconds: 20 }, (engine) => engine.wake('run'))
  expect(first).toBeLessThan(20_000)
})

test('a pg-boss that listens polls its queue as often as one that does not, so a delay ends in time (DU7)', async () => {
  const [first] = await timesOfCalls({}, (engine) => engine.wake('run', { delay: 1_000 }))
  expect(first).toBeGreaterThan(900)
  // pg-boss itself polls a queue that it listens to every 30 s.
  expect(first).toBeLessThan(25_000)
})
