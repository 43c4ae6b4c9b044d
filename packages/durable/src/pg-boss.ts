/** The engine of pg-boss 12: its jobs have heartbeats, and a worker that has lost a job cannot complete it. */

import { ConfigError, checkOptions } from '@meanwhile/core'
import type { PgBoss } from 'pg-boss'
import type { Engine } from './engine.ts'

/** The options of `pgBossEngine`. */
export interface PgBossOptions {
  /** The name of the pg-boss queue. Default `meanwhile`. */
  readonly queue?: string
  /** Seconds without a heartbeat after which a worker is dead. Default 10, which is the minimum. */
  readonly heartbeatSeconds?: number
  /** Seconds between two polls of the queue, in case no notification arrives. Default 0.5, which is the minimum. */
  readonly pollingIntervalSeconds?: number
  /**
   * How many times a job is repeated after its process died or its run could not continue. Then pg-boss gives up, and only `retry` wakes the run.
   * Default 1,000: `maxAttempts` of `durableRuns` ends a poisoned run long before.
   */
  readonly retryLimit?: number
}

/** A run that takes longer than a day moves to another worker in between. */
const DAY = 86_000

/** The data of a job. */
interface Job {
  readonly id: string
}

/**
 * Advances runs as jobs of pg-boss. It starts the given `boss`; you call its `stop` at the end. In at least one process pg-boss must
 * supervise, as it does by default: that process notices dead workers. Create the `boss` of a worker with `useListenNotify: true`: PostgreSQL
 * then notifies the worker at once.
 */
export function pgBossEngine(boss: PgBoss, options: PgBossOptions = {}): Engine {
  if (typeof boss?.send !== 'function' || typeof boss.work !== 'function')
    throw new ConfigError('boss', 'must be a PgBoss of pg-boss')
  checkOptions('pgBossEngine', options, {
    queue: '',
    heartbeatSeconds: '',
    pollingIntervalSeconds: '',
    retryLimit: '',
  })
  const { queue = 'meanwhile', heartbeatSeconds = 10, pollingIntervalSeconds = 0.5, retryLimit = 1_000 } = options
  return {
    async setUp() {
      await boss.start()
      await boss.createQueue(queue, {
        // At most one waiting and one running job per run.
        policy: 'stately',
        heartbeatSeconds,
        retryLimit,
        retryDelay: 1,
        retryBackoff: true,
        retryDelayMax: 30,
        expireInSeconds: DAY,
        notify: true,
      })
    },
    async wake(id, { priority = 0, delay = 0 } = {}) {
      // Seconds by the clock of the database.
      const startAfter = Math.ceil(delay / 1_000)
      // If the run already has a waiting job, that job serves this wake.
      await boss.send(queue, { id } satisfies Job, { singletonKey: id, priority, ...(delay > 0 && { startAfter }) })
    },
    async work(advance, { concurrency }) {
      const worker = await boss.work<Job>(
        queue,
        {
          localConcurrency: concurrency,
          pollingIntervalSeconds,
          // No notification arrives when a delay is over.
          notifyPollingIntervalSeconds: pollingIntervalSeconds,
          heartbeatRefreshSeconds: heartbeatSeconds / 3,
        },
        async ([job]) => {
          if (job) await advance(job.data.id, { signal: job.signal })
        },
      )
      return { stop: () => boss.offWork(queue, { id: worker, wait: true }) }
    },
  }
}
