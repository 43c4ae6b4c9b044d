/**
 * The engine of DBOS 5: a wake is a workflow of one step, and of the workflows of one run one is at work at a time. What DBOS itself leaves to
 * another product is here: workers tell that they live, and whoever finds a dead one wakes its runs.
 */

import { DBOS, type DBOSClient } from '@dbos-inc/dbos-sdk'
import { ConfigError } from '@meanwhile/core'
import { Database, type PostgresPool } from './database.ts'
import type { Advance, Engine, EngineWorker, WakeOptions } from './engine.ts'

export interface DbosOptions {
  /** A `Pool` of `pg`, for the table in which workers tell that they live. */
  readonly pool: PostgresPool
  /** The schema of that table, `dbos_workers`. Default `meanwhile`. */
  readonly schema?: string
  /** Default `meanwhile`. */
  readonly queue?: string
  /** Milliseconds after which a worker tells again that it lives. Default 2,000. */
  readonly heartbeat?: number
  /** Milliseconds of silence after which a worker is dead. Default 10,000. */
  readonly deadAfter?: number
  /** Milliseconds between two looks at the queue. Default 200. */
  readonly pollingInterval?: number
}

export interface DbosClientOptions {
  /** For a process that only wakes: it need not launch DBOS. */
  readonly client: DBOSClient
  /** Default `meanwhile`. */
  readonly queue?: string
}

interface Worker {
  readonly advance: Advance
  readonly concurrency: number
  readonly calls: Set<Promise<unknown>>
}

/** A workflow tries so often, then another one goes on, as each try is a record of DBOS. */
const TRIES = 20

/** DBOS takes smaller numbers first. */
const MIDDLE = 1_000_000

/**
 * Advances runs as workflows of DBOS. Call it before `DBOS.launch()`, as it registers a workflow. Each process needs an `executorID` of its own.
 * @throws {ConfigError} The pool is none, or the schema is no name.
 */
export function dbosEngine(options: DbosOptions | DbosClientOptions): Engine {
  const { queue = 'meanwhile' } = options
  const workflowName = `${queue}.advance`
  const wakeBy =
    (enqueue: (request: Parameters<DBOSClient['enqueue']>[0], id: string) => Promise<unknown>) =>
    async (id: string, { priority = 0, delay = 0 }: WakeOptions = {}): Promise<void> => {
      const request = {
        queueName: queue,
        workflowName,
        workflowID: `${id}/${crypto.randomUUID()}`,
        // Of one partition one workflow is at work.
        queuePartitionKey: id,
        priority: Math.max(0, MIDDLE - priority),
        ...(delay > 0 && { delaySeconds: delay / 1_000 }),
      }
      await enqueue(request, id)
    }
  if ('client' in options) {
    const { client } = options
    return {
      wake: wakeBy((request, id) => client.enqueue(request, id)),
      work: () => Promise.reject(new ConfigError('client', 'can only wake: a worker needs dbosEngine({ pool })')),
    }
  }
  return workingEngine(
    options,
    queue,
    workflowName,
    wakeBy((request, id) => DBOS.enqueueWorkflowWithOptions(request, id)),
  )
}

function workingEngine(
  { pool, schema, heartbeat = 2_000, deadAfter = 10_000, pollingInterval = 200 }: DbosOptions,
  queue: string,
  workflowName: string,
  wake: Engine['wake'],
): Engine {
  const database = new Database(pool, schema)
  const members = `"${database.schema}".dbos_workers`
  const workers = new Set<Worker>()

  /** Returns whether the call is to be made again, which is no error: only a workflow that is still its owner's can record that. */
  async function tryOnce(id: string, tries: number): Promise<boolean> {
    const worker = [...workers].find(({ calls, concurrency }) => calls.size < concurrency)
    if (worker) {
      const call = worker.advance(id, { signal: DBOS.stepStatus?.cancelSignal ?? new AbortController().signal })
      worker.calls.add(call)
      try {
        await call
        return false
      } catch {
        // The run has not failed: it could not go on here.
      } finally {
        worker.calls.delete(call)
      }
    }
    await pause(Math.min(30_000, 100 * 2 ** tries * (1 + Math.random())))
    return true
  }

  async function advanceOften(id: string): Promise<void> {
    for (let tries = 0; tries < TRIES && (tries === 0 || workers.size > 0); tries++) {
      const isAgain = await DBOS.runStep(() => tryOnce(id, tries), { name: 'advance' })
      if (!isAgain) return
    }
    // This process stops, or it was tried often: another workflow goes on, in whatever process.
    await wake(id, { delay: 1_000 })
  }

  DBOS.registerWorkflow(advanceOften, { name: workflowName, maxRecoveryAttempts: 1_000_000 })

  /** Tells that this process lives, and wakes the runs of those that do not. */
  async function beat(): Promise<void> {
    await database.query(
      `INSERT INTO ${members} AS known (id, seen_at) VALUES ($1, clock_timestamp())
      ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp()`,
      [DBOS.executorID],
    )
    await database.transaction(async (query) => {
      // Its row is locked until its runs are awake: if this process dies meanwhile, another finds it again.
      const dead = await query(
        `SELECT id FROM ${members} WHERE seen_at < clock_timestamp() - $1 * interval '1 millisecond' FOR UPDATE SKIP LOCKED`,
        [deadAfter],
      )
      for (const { id } of dead) {
        await takeOver(String(id))
        await query(`DELETE FROM ${members} WHERE id = $1`, [id])
      }
    })
  }

  async function takeOver(executorId: string): Promise<void> {
    const lost = await DBOS.listWorkflows({ executorId, workflowName, status: 'PENDING', loadInput: false })
    for (const { workflowID } of lost) {
      await wake(workflowID.slice(0, workflowID.lastIndexOf('/')))
      // If that process does live, it is told so.
      await DBOS.cancelWorkflow(workflowID)
    }
  }

  return {
    wake,
    async setUp() {
      await database.transaction(async (query) => {
        await query(`SELECT pg_advisory_xact_lock(hashtext('@meanwhile/durable'))`)
        await query(`CREATE SCHEMA IF NOT EXISTS "${database.schema}"`)
        await query(
          `CREATE TABLE IF NOT EXISTS ${members} (id text COLLATE "C" PRIMARY KEY, seen_at timestamptz NOT NULL)`,
        )
      })
    },
    async work(advance, { concurrency }): Promise<EngineWorker> {
      if (DBOS.executorID === 'local')
        throw new ConfigError('executorID', 'each process needs one of its own: DBOS.setConfig({ executorID: … })')
      const worker: Worker = { advance, concurrency, calls: new Set() }
      workers.add(worker)
      try {
        await DBOS.registerQueue(queue, {
          workerConcurrency: [...workers].reduce((sum, one) => sum + one.concurrency, 0),
          partitionConcurrency: 1,
          minPollingIntervalMs: pollingInterval,
          onConflict: 'always_update',
        })
        await beat()
      } catch (error) {
        workers.delete(worker)
        throw error
      }
      let isBeating = false
      const heart = setInterval(() => {
        if (isBeating) return
        isBeating = true
        // What fails, or hangs in the database, is done by a later beat, or by another worker.
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

/** Resolves when it has settled, or that takes too long. */
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
