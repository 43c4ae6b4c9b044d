/** Tables for threads with durable runs, created before each test. */

import type { Agent } from '@meanwhile/core'
import {
  type DurableOptions,
  type DurableRuns,
  type DurableWorker,
  durableRuns,
  type Engine,
  type ReadEvent,
  setUpDurable,
} from '@meanwhile/durable'
import { memoryEngine } from '@meanwhile/durable/testing'
import { ownDatabase } from '@meanwhile/postgres-cluster/testing'
import { postgresStore } from '@meanwhile/stores/postgres'
import { Pool } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import type { ThreadStore } from '../src/index.ts'
import { postgresThreads, setUpPostgresThreads } from '../src/postgres.ts'

export { type DurableRuns, type Engine, memoryEngine, type ReadEvent }

export interface Tables {
  readonly pool: Pool
  readonly schema: string
  /** Stops the workers of this test and creates new tables. */
  renew(): Promise<void>
  newStore(): ThreadStore
  /** Returns durable runs with this agent. Runs with the same engine belong to one cluster. */
  runsOf(agent: Agent, engine?: Engine, options?: Pick<Partial<DurableOptions>, 'context' | 'store'>): DurableRuns
  /** Starts a worker in this process. It stops after the test. */
  work(runs: DurableRuns): void
}

export function tables(): Tables {
  let pool: Pool
  let schema = ''
  let count = 0
  const workers: Promise<DurableWorker>[] = []
  beforeAll(async () => {
    pool = new Pool({ connectionString: await ownDatabase(), max: 20 })
    pool.on('error', () => {})
  })
  const stop = async () => {
    const begun = await Promise.all(workers.splice(0))
    await Promise.all(begun.map((worker) => worker.stop({ grace: 1_000 })))
  }
  const renew = async () => {
    await stop()
    schema = `threads_${++count}`
    await setUpPostgresThreads({ pool, schema })
    await setUpDurable({ pool, schema })
  }
  beforeEach(renew)
  afterEach(stop)
  afterAll(() => pool.end())
  return {
    get pool() {
      return pool
    },
    get schema() {
      return schema
    },
    renew,
    newStore: () => postgresThreads({ pool, schema }),
    runsOf: (agent, engine = memoryEngine(), options = {}) =>
      durableRuns({ agents: [agent], store: postgresStore({ pool, schema }), pool, schema, engine, ...options }),
    work: (runs) => void workers.push(runs.work()),
  }
}
