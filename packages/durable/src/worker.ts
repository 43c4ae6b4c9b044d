/** A worker in this process: it advances the runs that the engine gives it, until it is stopped. */

import { checkOptions } from '@meanwhile/core'
import { advance, type WorkerState } from './advance.ts'
import { finishDeletions } from './deletion.ts'
import type { DurableWorker } from './durable-runs-api.ts'
import type { EngineWorker } from './engine.ts'
import { checkTimer } from './given.ts'
import type { LiveRun } from './live-run.ts'
import { occasionally } from './occasionally.ts'
import { OldEvents } from './old-events.ts'
import type { Services } from './services.ts'

/** The share of the grace time of a worker after which tools that are still running are cut off. */
const ESCALATION = 0.8

/** The shortest time between two searches for old events or unfinished deletions, in milliseconds. */
const TIDY_INTERVAL = 60_000

/** `keepFor`: milliseconds after which the events of an ended run are deleted; undefined: never. */
export async function startWorker(
  services: Services,
  concurrency: number,
  keepFor: number | undefined,
): Promise<DurableWorker> {
  const { changes, database, engine } = services
  const end = new AbortController()
  const live = new Set<LiveRun>()
  const state: WorkerState = { live, isStopping: false, signal: end.signal }
  const tasks = [occasionally(TIDY_INTERVAL, () => finishDeletions(services))]
  if (keepFor !== undefined) {
    const oldEvents = new OldEvents(database, keepFor)
    tasks.push(occasionally(Math.min(TIDY_INTERVAL, keepFor), () => oldEvents.deleteAll()))
  }
  const tidy = () => {
    for (const task of tasks) task()
  }
  tidy()
  // So that it also listens between two runs.
  const unwatch = changes.watch('', tidy)
  let worker: EngineWorker
  try {
    worker = await engine.work((id, call) => advance(services, state, id, call), { concurrency })
  } catch (error) {
    unwatch()
    throw error
  }
  return {
    async stop(options = {}) {
      checkOptions('stop', options, { grace: 'timeout' })
      const { grace = 30_000 } = options
      checkTimer('grace', grace)
      state.isStopping = true
      let timer: ReturnType<typeof setTimeout> | undefined
      const tooLong = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, grace)
      })
      try {
        const stopped = worker.stop()
        for (const run of live) run.handBack(grace * ESCALATION)
        await Promise.race([stopped, tooLong])
      } finally {
        clearTimeout(timer)
        end.abort()
        unwatch()
      }
    },
  }
}
