/** Opens a set-up in this process. What it opens ends with the process. */

import { join } from 'node:path'
import { type CheckpointStore, memoryStore } from '@meanwhile/core'
import { durableRuns, setUpDurable } from '@meanwhile/durable'
import { postgresStore } from '@meanwhile/stores/postgres'
import { sqliteStore } from '@meanwhile/stores/sqlite'
import { Pool } from 'pg'
import { countedStore } from '../counted-store.ts'
import { commitsIn } from './commits.ts'
import { openEngine } from './engines.ts'
import type { SetUp } from './setups.ts'
import { PROMPT, shortRuns } from './short-run.ts'

export interface OpenSetUp {
  /** Starts a worker that advances runs, `concurrency` at once. Returns a function that stops the worker. */
  work(concurrency: number): Promise<() => Promise<void>>
  /** Its engine looks at a queue from time to time. */
  readonly isPolling: boolean
  /** Starts a run, and waits for its result. Returns its text. */
  run(): Promise<string>
  /** How often a tool was executed so far. */
  executions(): number
  /** How many checkpoints were saved so far. */
  saves(): number
  /** How many transactions have written or notified so far. */
  commits(): Promise<number>
}

export interface Place {
  /** The folder for databases that are files. */
  readonly folder: string
  /** The URL of an empty PostgreSQL database. */
  readonly url: string
}

export async function openSetUp(setUp: SetUp, place: Place): Promise<OpenSetUp> {
  const { agent, executions } = shortRuns()
  let saves = 0
  const counted = (store: CheckpointStore): CheckpointStore => countedStore(store, () => saves++)
  const counts = { executions, saves: () => saves, isPolling: setUp.engine !== undefined }
  if (setUp.store !== 'postgres') {
    const checkpoints =
      setUp.store && counted(setUp.store === 'memory' ? memoryStore() : sqliteStore(join(place.folder, 'runs.db')))
    return {
      ...counts,
      work: noWorker,
      run: async () => (await agent.run(PROMPT, { ...(checkpoints && { checkpoints }) })).text,
      commits: async () => 0,
    }
  }
  const pool = new Pool({ connectionString: place.url, max: CONNECTIONS })
  pool.on('error', (error) => console.error(error.message))
  await setUpDurable({ pool })
  const store = counted(postgresStore({ pool }))
  const commits = () => commitsIn(pool)
  if (!setUp.engine) {
    const run = async () => (await agent.run(PROMPT, { checkpoints: store })).text
    return { ...counts, work: noWorker, run, commits }
  }
  const engine = await openEngine(setUp.engine, place.url, pool)
  const runs = durableRuns({ agents: [agent], store, pool, engine, ...(!setUp.hasEventLog && { events: false }) })
  return {
    ...counts,
    commits,
    async work(concurrency) {
      const worker = await runs.work({ concurrency })
      return () => worker.stop()
    },
    async run() {
      const { id } = await runs.start('bench-durable', PROMPT)
      return (await runs.result(id)).text
    },
  }
}

const CONNECTIONS = 20

const noWorker = async () => async () => {}
