import { createDatabase } from '@meanwhile/postgres-cluster'
import { expect, test } from 'vitest'
import { testDatabase } from '../test/database.ts'
import { openDbos } from '../test/dbos-driver.ts'
import { driverTests } from '../test/driver-tests.ts'
import { engineContract } from './testing.ts'

const database = testDatabase()

// There is one DBOS in a process, so nothing of it can be elsewhere.
const contract = engineContract(async () => ({
  ...(await openDbos(await createDatabase(database.url), 'contract')),
  hasPriorities: false,
}))

for (const { name, run } of contract) {
  test(`dbos: ${name} (DU7)`, async () => {
    await expect(run()).resolves.toBeUndefined()
  })
}

driverTests('dbos', database)
