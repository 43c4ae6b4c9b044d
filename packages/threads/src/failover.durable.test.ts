import { setTimeout as pause } from 'node:timers/promises'
import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, textOf, tool } from '@meanwhile/core'
import { type Cluster, startCluster, switchingProxy, transactionPooler } from '@meanwhile/postgres-cluster'
import { sized } from '@meanwhile/tests/size'
import { Client, Pool } from 'pg'
import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { createThreads } from './index.ts'
import { postgresThreads, setUpPostgresThreads } from './postgres.ts'

/** Milliseconds without an end of a turn. A machine that runs all tests may be slower, and no turn may hang. */
const LONGEST_GAP = sized({ small: 60_000, middle: 60_000, whole: 5_000 })

let primary: Cluster
let standby: Cluster

/** A primary whose commits wait until the standby has them. */
beforeEach(async () => {
  primary = await startCluster()
  standby = await startCluster({ standbyOf: primary.url })
  await ask(primary.url, `ALTER SYSTEM SET synchronous_standby_names = '*'`)
  await ask(primary.url, 'SELECT pg_reload_conf()')
  return async () => {
    await standby.close()
    await primary.close()
  }
})

async function ask(url: string, statement: string): Promise<unknown> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

/** The old primary goes on, read-only. `isCut`: it also closes the connections of its clients. */
async function failOver(isCut: boolean, lead: () => void): Promise<void> {
  await ask(primary.url, 'ALTER SYSTEM SET default_transaction_read_only = on')
  await ask(primary.url, 'SELECT pg_reload_conf()')
  // What may still write ends before the standby is promoted.
  await pause(300)
  await ask(standby.url, 'SELECT pg_promote()')
  lead()
  if (isCut)
    await ask(
      primary.url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
    )
}

test.each(['directly', 'through PgBouncer', 'with prepared statements', 'with prepared statements through PgBouncer'])(
  'of 200 turns %s, none is lost or executed twice when a standby is promoted, and the next turn ends within seconds (W28)',
  async (how) => {
    const isPooled = how.endsWith('PgBouncer')
    const proxy = await switchingProxy(primary.url)
    const pooler = isPooled ? await transactionPooler(proxy.url) : undefined
    const pool = new Pool({ connectionString: pooler?.url ?? proxy.url, max: 6, idleTimeoutMillis: 0 })
    pool.on('error', () => {})
    const paid: string[] = []
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      input: z.object({ bill: z.string() }),
      async execute({ bill }) {
        paid.push(bill)
        await pause(10)
        return `paid ${bill}`
      },
    })
    const errors: unknown[] = []
    await setUpPostgresThreads({ pool })
    const threads = createThreads({
      store: postgresThreads({
        pool,
        ...(how.startsWith('with') && { prepared: (statement) => pool.query(statement) }),
      }),
      onError: (error) => errors.push(error),
      agent: ({ id }) =>
        createAgent({
          name: 'clerk',
          model: scriptedModel([respond(call('pay', { bill: id })), respond(say('Done.'))]),
          tools: [pay],
        }),
    })
    const ids = Array.from({ length: 200 }, (_, n) => `t${n}`)
    const ended: string[] = []
    const ends: number[] = []
    const waiting = [...ids]
    let failingOver: Promise<void> | undefined
    async function customer(): Promise<void> {
      for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
        const turn = await threads.send(id, 'Pay.', { messageId: id })
        const { status } = await turn.result
        ended.push(`${id} ${status}`)
        ends.push(performance.now())
        if (ended.length >= 80) failingOver ??= failOver(isPooled, () => proxy.switchTo(standby.url))
      }
    }
    try {
      await Promise.all(Array.from({ length: 12 }, customer))
      await failingOver
      expect(ended.toSorted()).toEqual(ids.map((id) => `${id} completed`).toSorted())
      expect(paid.toSorted()).toEqual(ids.toSorted())
      for (const id of ids) {
        const { messages } = await threads.read(id)
        expect(messages.map(({ message }) => textOf(message))).toEqual(['Pay.', '', `paid ${id}`, 'Done.'])
      }
      expect(errors).toEqual([])
      const longest = Math.max(...ends.slice(1).map((end, index) => end - (ends[index] ?? end)))
      expect(longest).toBeLessThan(LONGEST_GAP)
    } finally {
      await threads.close()
      await pool.end()
      await pooler?.close()
      await proxy.close()
    }
  },
)
