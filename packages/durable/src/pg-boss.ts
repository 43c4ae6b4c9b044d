/** The engine of pg-boss 12: its jobs have heartbeats, and a worker that has lost a job cannot complete it. */

import { ConfigError } from '@meanwhile/core'
import type { PgBoss } from 'pg-boss'
import type { Engine } from './engine.ts'

export interface PgBossOptions {
  /** Default `meanwhile`. */
  readonly queue?: string
  /** A worker that says nothing for so long is dead. Default 10, which is the least. */
  readonly heartbeatSeconds?: number
  /** Seconds between two looks at the queue, in case no notification comes. Default 0.5, which is the least. */
  readonly pollingIntervalSeconds?: number
  /**
   * How often a job is tried again after its process died or its run could not go on. Then pg-boss gives up, and `retry` of the run has to wake it.
   * Default 1,000: `maxAttempts` of `durableRuns` ends a poisoned run long before.
   */
  readonly retryLimit?: number
}

/** A run that takes longer than a day is given to another worker in between. */
const DAY = 86_000

/** What a job says. */
interface Job {
  readonly id: string
}

/**
 * Advances runs as jobs of pg-boss. It starts the given `boss`, which stays yours: call its `stop` at the end. In one process at least, pg-boss must
 * supervise, as it does by default: that process notices who has died. Make the `boss` of a worker with `useListenNotify: true`: then PostgreSQL notifies
 * the worker of a run at once.
 */
export function pgBossEngine(
  boss: PgBoss,
  { queue = 'meanwhile', heartbeatSeconds = 10, pollingIntervalSeconds = 0.5, retryLimit = 1_000 }: PgBossOptions = {},
): Engine {
  if (typeof boss?.send !== 'function' || typeof boss.work !== 'function')
    throw new ConfigError('boss', 'must be a PgBoss of pg-boss')
  return {
    async setUp() {
      await boss.start()
      await boss.createQueue(queue, {
        // For each run one job waits and one is at work, at the most.
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
      // If a job of the run waits already, it is that one which is taken.
      await boss.send(queue, { id } satisfies Job, { singletonKey: id, priority, ...(delay > 0 && { startAfter }) })
    },
    async work(advance, { concurrency }) {
      const worker = await boss.work<Job>(
        queue,
        {
          localConcurrency: concurrency,
          pollingIntervalSeconds,
          // No notification comes when a delay is over.
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
