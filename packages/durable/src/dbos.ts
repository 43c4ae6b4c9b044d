/**
 * The engine of DBOS 5: a wake is a workflow of one step, and one workflow of a run is running at a time. DBOS leaves the recovery of
 * dead workers to another product, so it is here: workers write heartbeats, and any worker that finds a dead one wakes its runs.
 */

import { DBOS, type DBOSClient } from '@dbos-inc/dbos-sdk'
import { ConfigError, checkOptions } from '@meanwhile/core'
import { Database, type PostgresPool } from './database.ts'
import type { Advance, Engine, EngineWorker, WakeOptions } from './engine.ts'
import { checkTimer } from './given.ts'

/** The options of `dbosEngine` for a worker. */
export interface DbosOptions {
  /** A `Pool` of `pg`, for the table of heartbeats. */
  readonly pool: PostgresPool
  /** The schema of that table, `dbos_workers`. Default `meanwhile`. */
  readonly schema?: string
  /** The name of the DBOS queue. Default `meanwhile`. */
  readonly queue?: string
  /** Milliseconds between two heartbeats of a worker. Default 2,000. */
  readonly heartbeat?: number
  /** Milliseconds without a heartbeat after which a worker is dead. Default 10,000. */
  readonly deadAfter?: number
  /** Milliseconds between two polls of the queue. Default 200. */
  readonly pollingInterval?: number
}

/** The options of `dbosEngine` for a process that only wakes runs. */
export interface DbosClientOptions {
  /** For a process that only wakes runs: it need not launch DBOS. */
  readonly client: DBOSClient
  /** The name of the DBOS queue. Default `meanwhile`. */
  readonly queue?: string
}

interface Worker {
  readonly advance: Advance
  readonly concurrency: number
  readonly calls: Set<Promise<unknown>>
}

/** A workflow tries this often, then another one continues, because DBOS records each try. */
const MAX_TRIES = 20

/** Workers without a heartbeat since then are dead. */
const DEAD_SINCE = `clock_timestamp() - $1 * interval '1 millisecond'`

/** DBOS takes smaller numbers first. */
const DEFAULT_PRIORITY = 1_000_000

/**
 * Advances runs as workflows of DBOS. Call it before `DBOS.launch()`, because it registers a workflow. Each process needs its own `executorID`.
 * @throws {ConfigError} `pool` is not a pool, or `schema` is not a valid name.
 */
export function dbosEngine(options: DbosOptions | DbosClientOptions): Engine {
  if (typeof options !== 'object' || options === null) throw new ConfigError('options', 'must be an object')
  const { queue = 'meanwhile' } = options
  const workflowName = `${queue}.advance`
  const wakeWith =
    (enqueue: (request: Parameters<DBOSClient['enqueue']>[0], id: string) => Promise<unknown>) =>
    async (id: string, { priority = 0, delay = 0 }: WakeOptions = {}): Promise<void> => {
      const request = {
        queueName: queue,
        workflowName,
        workflowID: `${id}/${crypto.randomUUID()}`,
        // One workflow of a partition is running at a time.
        queuePartitionKey: id,
        priority: Math.max(0, DEFAULT_PRIORITY - priority),
        ...(delay > 0 && { delaySeconds: delay / 1_000 }),
      }
      await enqueue(request, id)
    }
  if ('client' in options) {
    checkOptions('dbosEngine', options, { client: '', queue: '' })
    const { client } = options
    return {
      wake: wakeWith((request, id) => client.enqueue(request, id)),
      work: () => Promise.reject(new ConfigError('client', 'can only wake runs: a worker needs dbosEngine({ pool })')),
    }
  }
  checkOptions('dbosEngine', options, {
    pool: '',
    schema: '',
    queue: '',
    heartbeat: '',
    deadAfter: '',
    pollingInterval: '',
  })
  return workerEngine(
    options,
    queue,
    workflowName,
    wakeWith((request, id) => DBOS.enqueueWorkflowWithOptions(request, id)),
  )
}

function workerEngine(
  { pool, schema, heartbeat = 2_000, deadAfter = 10_000, pollingInterval = 200 }: DbosOptions,
  queue: string,
  workflowName: string,
  wake: Engine['wake'],
): Engine {
  for (const [option, value] of Object.entries({ heartbeat, deadAfter, pollingInterval })) checkTimer(option, value)
  const database = new Database(pool, schema)
  const table = `"${database.schema}".dbos_workers`
  const workers = new Set<Worker>()
  /** The ids of the workflows that this process runs. */
  const running = new Set<string>()

  /** Returns whether another call must follow. That is not an error: only the workflow's current owner can record it. */
  async function tryAdvance(id: string, tries: number): Promise<boolean> {
    const worker = [...workers].find(({ calls, concurrency }) => calls.size < concurrency)
    if (worker) {
      const call = worker.advance(id, { signal: DBOS.stepStatus?.cancelSignal ?? new AbortController().signal })
      worker.calls.add(call)
      try {
        await call
        return false
      } catch {
        // The run has not failed: it could not continue in this process.
      } finally {
        worker.calls.delete(call)
      }
    }
    await pause(Math.min(30_000, 100 * 2 ** tries * (1 + Math.random())))
    return true
  }

  async function advanceUntilDone(id: string): Promise<void> {
    const workflow = DBOS.workflowID ?? ''
    running.add(workflow)
    try {
      await tryUntilDone(id)
    } finally {
      running.delete(workflow)
    }
  }

  async function tryUntilDone(id: string): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES && (tries === 0 || workers.size > 0); tries++) {
      const isAgain = await DBOS.runStep(() => tryAdvance(id, tries), { name: 'advance' })
      if (!isAgain) return
    }
    // This process stops, or there were many tries: another workflow continues, in any process.
    await wake(id, { delay: 1_000 })
  }

  DBOS.registerWorkflow(advanceUntilDone, { name: workflowName, maxRecoveryAttempts: 1_000_000 })

  /** Writes a heartbeat. On average one of the living workers also looks for runs whose worker is dead. */
  async function beat(): Promise<void> {
    await database.query(
      `INSERT INTO ${table} AS known (id, seen_at) VALUES ($1, clock_timestamp())
      ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp()`,
      [DBOS.executorID],
    )
    const rows = await database.query(`SELECT id, seen_at < ${DEAD_SINCE} AS is_dead FROM ${table}`, [deadAfter])
    const isDead = new Map(rows.map((row) => [String(row.id), row.is_dead === true]))
    const alive = [...isDead.values()].filter((dead) => !dead).length
    if (Math.random() * alive < 1) await continueLost(isDead)
  }

  /** Wakes the runs of dead workers. If this process dies in between, another one does it again. */
  async function continueLost(isDead: ReadonlyMap<string, boolean>): Promise<void> {
    const pending = await DBOS.listWorkflows({ workflowName, status: 'PENDING', loadInput: false })
    for (const { workflowID, executorId = '', dequeuedAt = 0 } of pending) {
      const isOld = Date.now() - dequeuedAt > deadAfter
      // A process without a row has just started, was considered dead and lives, or is dead. This process may have lost
      // the connection at the moment when the database gave it the workflow: then it has not started it.
      const isLost =
        executorId === DBOS.executorID ? isOld && !running.has(workflowID) : (isDead.get(executorId) ?? isOld)
      if (!isLost) continue
      await wake(workflowID.slice(0, workflowID.lastIndexOf('/')))
      // If that process is still alive, it is notified.
      await DBOS.cancelWorkflow(workflowID)
    }
    const dead = [...isDead].flatMap(([id, hasDied]) => (hasDied ? [id] : []))
    if (dead.length > 0)
      await database.query(`DELETE FROM ${table} WHERE id = ANY($2) AND seen_at < ${DEAD_SINCE}`, [deadAfter, dead])
  }

  return {
    wake,
    async setUp() {
      await database.setUp(
        'dbos_workers',
        `CREATE SCHEMA IF NOT EXISTS "${database.schema}";
        CREATE TABLE IF NOT EXISTS ${table} (id text COLLATE "C" PRIMARY KEY, seen_at timestamptz NOT NULL);`,
      )
    },
    async work(advance, { concurrency }): Promise<EngineWorker> {
      if (DBOS.executorID === 'local')
        throw new ConfigError('executorID', 'each process needs its own executorID: DBOS.setConfig({ executorID: … })')
      const worker: Worker = { advance, concurrency, calls: new Set() }
      workers.add(worker)
      try {
        // Before the first run arrives.
        await beat()
        await DBOS.registerQueue(queue, {
          workerConcurrency: [...workers].reduce((sum, one) => sum + one.concurrency, 0),
          partitionConcurrency: 1,
          minPollingIntervalMs: pollingInterval,
          onConflict: 'always_update',
        })
      } catch (error) {
        workers.delete(worker)
        throw error
      }
      let isBeating = false
      const heart = setInterval(() => {
        if (isBeating) return
        isBeating = true
        // If the database fails or hangs, a later heartbeat or another worker does this.
        void within(deadAfter, beat()).finally(() => {
          isBeating = false
        })
      }, heartbeat)
      return {
        async stop() {
          workers.delete(worker)
          await Promise.allSettled(worker.calls)
          clearInterval(heart)
        },
      }
    },
  }
}

/** Resolves when `work` has settled, or after `ms` milliseconds. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const tooLong = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work.catch(() => undefined), tooLong])
  clearTimeout(timer)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
