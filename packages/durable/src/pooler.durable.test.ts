import { call, respond, say, wait } from '@meanwhile/assemble/testing'
import { createAgent, textOf, tool } from '@meanwhile/core'
import { type Pooler, transactionPooler } from '@meanwhile/postgres-cluster'
import { postgresStore } from '@meanwhile/stores/postgres'
import { Pool } from 'pg'
import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { all, fold, scripted, status, testRuns } from '../test/runs.ts'
import { type DurableOptions, type DurableRuns, type PostgresPool, setUpDurable } from './index.ts'
import { memoryEngine } from './testing.ts'

const here = testRuns()
const { runsOf, work } = here

const ask = tool({ name: 'ask', description: 'Asks.', input: z.object({}), answer: z.string() })
const agent = createAgent({
  name: 'clerk',
  model: scripted(respond(say('A moment.'), call('ask')), respond(wait(60_000), say('Never said.'))),
  tools: [ask],
})

let pooler: Pooler
let pool: Pool

beforeEach(async () => {
  pooler = await transactionPooler(here.database.url)
  pool = new Pool({ connectionString: pooler.url, max: 10 })
  pool.on('error', () => {})
  return async () => {
    await pool.end()
    await pooler.close()
  }
})

/** How many times a worker has looked, through the pooler, whether its run was cancelled or has messages. */
let looks = 0

function pooled(options: Partial<DurableOptions> = {}): DurableRuns {
  const counted: PostgresPool = {
    connect: () => pool.connect(),
    query(text, values) {
      if (text.includes('SELECT cancel')) looks++
      return pool.query(text, values)
    },
  }
  return runsOf(agent, { pool: counted, store: postgresStore({ pool, schema: here.schema }), ...options })
}

/** Cancels a run while its model streams. Returns after how many milliseconds that is known. `meanwhile`: before it is cancelled. */
async function cancelled(runs: DurableRuns, meanwhile: () => Promise<void>): Promise<number> {
  await runs.start('clerk', 'Go', { id: 'run' })
  await runs.send('run', 'And this.')
  await status(runs, 'run', 'interrupted')
  const [question] = (await runs.get('run'))?.interrupts ?? []
  await runs.answer('run', { [question?.id ?? '']: 'yes' })
  const reading = all(runs.events('run'))
  looks = 0
  await meanwhile()
  const begun = Date.now()
  await runs.cancel('run')
  const read = await reading
  expect(read.at(-1)?.event).toEqual({ type: 'run-stopped', status: 'cancelled' })
  expect(fold(read).map(textOf).sort()).toEqual(['A moment.', 'And this.', 'Go', 'yes'])
  return Date.now() - begun
}

test('through PgBouncer in transaction mode runs go on, and readers and workers look every second, as nothing is heard (DU12)', async () => {
  await setUpDurable({ pool, schema: 'through_a_pooler' })
  const runs = pooled()
  await work(pooled())
  await cancelled(runs, async () => await expect.poll(() => looks, { timeout: 60_000 }).toBeGreaterThan(3))
})

test('with a listening pool that bypasses PgBouncer, readers and workers are notified at once (DU12)', async () => {
  const runs = pooled({ listen: here.pool })
  await work(pooled({ listen: here.pool }))
  const took = cancelled(runs, async () => {
    await new Promise((resolve) => setTimeout(resolve, 3_500))
    // When they begin to listen, when they are notified of the answer, and once in ten seconds.
    expect(looks).toBeLessThanOrEqual(3)
  })
  // Before they look again.
  expect(await took).toBeLessThan(9_000)
})

test('many runs at once through PgBouncer end, with two schemas on one pool (DU12)', async () => {
  const other = 'beside_it'
  await setUpDurable({ pool, schema: other })
  const quick = createAgent({ name: 'clerk', model: scripted(respond(say('Done.'))) })
  const both = [here.schema, other].map((schema) =>
    runsOf(quick, { pool, schema, engine: memoryEngine(), store: postgresStore({ pool, schema }) }),
  )
  for (const runs of both) await work(runs)
  const ids = Array.from({ length: 20 }, (_, run) => `run-${run}`)
  const texts = await Promise.all(
    both.flatMap((runs) =>
      ids.map(async (id) => {
        await runs.start('clerk', 'Go', { id })
        return (await runs.result(id)).text
      }),
    ),
  )
  expect(new Set(texts)).toEqual(new Set(['Done.']))
})
