import { respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { ownDatabase } from '@meanwhile/postgres-cluster/testing'
import { Pool } from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { countedPool, fakeTimers } from '../test/counted-pool.ts'
import { createThreads } from './index.ts'
import { postgresThreads, setUpPostgresThreads } from './postgres.ts'

let pool: Pool

beforeEach(async () => {
  pool = new Pool({ connectionString: await ownDatabase(), idleTimeoutMillis: 0 })
  await setUpPostgresThreads({ pool })
})

afterEach(async () => {
  vi.useRealTimers()
  await pool.end()
})

test('the leases of all turns that wait for a slot are renewed in one statement, and none waits for a thread (W63, W29)', async () => {
  const lease = 3_000
  const model = scriptedModel([respond(wait(10_000), say('Done.'))])
  const counted = countedPool(pool)
  const store = postgresThreads({ pool: counted.pool })
  const agent = createAgent({ name: 'a', model })
  const threads = createThreads({ agent, store, lease, maxRunning: 1 })
  fakeTimers()
  await threads.send('busy', 'busy')
  for (let n = 0; n < 20; n++) await threads.send(`t${n}`, 'hi')
  await counted.pass(20)
  counted.taken()
  await counted.pass(1_500)
  const renewals = counted.taken().filter((text) => text.includes('SKIP LOCKED'))
  expect(renewals).toHaveLength(1)
  const { turns } = (await store.load('t1')) ?? {}
  const holder = await pool.connect()
  try {
    await holder.query('BEGIN')
    await holder.query(`SELECT FROM meanwhile.turns WHERE thread = 't1' FOR UPDATE`)
    const known = async (id: string) => {
      const turn = (await store.load(id))?.turns[0]
      return { turn: turn?.id ?? '', leaseUntil: turn?.leaseUntil ?? 0 }
    }
    const [free, held] = [await known('t0'), await known('t1')]
    expect([...(await store.renewLeases([free, held], lease)).keys()]).toEqual([free.turn])
    await holder.query('ROLLBACK')
  } finally {
    holder.release()
  }
  expect(turns?.[0]?.leaseUntil).toBeGreaterThan((await store.now?.()) ?? 0)
  await threads.close()
})
