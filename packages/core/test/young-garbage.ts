/**
 * In its own thread: measures how many bytes of a run need a full garbage collection, and of one inside a `wrapAgent`. Posts the least of at
 * most five measurements of each. `few`: so few bytes that no further measurement is needed.
 */

import { parentPort, workerData } from 'node:worker_threads'
import { collectGarbage } from '@meanwhile/tests/garbage'
import { createAgent, type Middleware, type Model } from '../src/index.ts'

const RUNS = 200

const { few }: { readonly few: number } = workerData

const passing: Middleware = { name: 'passing', wrapAgent: (setup, next) => next(setup) }

/** Executes runs that nothing refers to when they are over. */
async function play(middleware: readonly Middleware[]): Promise<void> {
  for (let run = 0; run < RUNS; run++) {
    const model: Model = {
      provider: 'own',
      id: 'own',
      async *stream() {
        yield { type: 'text-delta', delta: 'Hi' }
        return { role: 'assistant', content: [{ type: 'text', text: 'Hi' }], finishReason: 'stop' }
      },
    }
    await createAgent({ model, middleware }).run('go')
  }
}

async function bytesOfRun(middleware: readonly Middleware[]): Promise<number> {
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  await play(middleware)
  for (let time = 0; time < 2; time++) collectGarbage({ type: 'minor' })
  return (process.memoryUsage().heapUsed - before) / RUNS
}

async function leastOf(middleware: readonly Middleware[]): Promise<number> {
  await play(middleware)
  // What is alive when V8 collects becomes old as well, so one measurement may be above.
  let least = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < 5 && least >= few; tries++) least = Math.min(least, await bytesOfRun(middleware))
  return least
}

parentPort?.postMessage({ plain: await leastOf([]), wrapped: await leastOf([passing]) })
