import { createDatabase } from '@meanwhile/postgres-cluster'
import { PgBoss } from 'pg-boss'
import { expect, test } from 'vitest'
import { testDatabase } from '../test/database.ts'
import { driverTests } from '../test/driver-tests.ts'
import { pgBossEngine } from './pg-boss.ts'
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
    lose: async () => {
      await boss
        .getDb()
        .executeSql(`UPDATE pgboss.job SET heartbeat_on = now() - interval '1 hour' WHERE state = 'active'`)
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

driverTests('pg-boss', database)
