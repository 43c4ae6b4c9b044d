/** A worker that a test kills: its argument is its {@link WorkerOrder} as JSON. */

import type { Checkpoint, CheckpointStore } from '@meanwhile/core'
import { postgresStore } from '@meanwhile/stores/postgres'
import { Pool } from 'pg'
import { durableRuns, type Engine } from '../src/index.ts'
import { clerk, diaryIn } from './clerk.ts'
import { openEngine } from './drivers.ts'
import type { WorkerOrder } from './fleet.ts'

const [text = ''] = process.argv.slice(2)
const {
  driver,
  url,
  diary: path,
  name,
  isVaried = false,
  maxAttempts,
  sleepsBefore,
  heartbeat,
}: WorkerOrder = JSON.parse(text)
const diary = diaryIn(path)
const pool = new Pool({ connectionString: url, max: 10 })
pool.on('error', () => {})
const { engine, close } = await openEngine(driver, url, name, heartbeat)
const telling: Engine = {
  ...engine,
  work: (advance, options) =>
    engine.work(async (run, call) => {
      diary.write({ at: 'claim', run, pid: process.pid, time: Date.now() })
      try {
        await advance(run, call)
      } finally {
        diary.write({ at: 'return', run, pid: process.pid, time: Date.now() })
      }
    }, options),
}
let isHeld = (): void => {}
const held = new Promise<void>((resolve) => {
  isHeld = resolve
})
const runs = durableRuns({
  agents: [clerk(diary, isVaried, held)],
  store: sleepy(postgresStore({ pool })),
  pool,
  engine: telling,
  ...(maxAttempts !== undefined && { maxAttempts }),
})
const worker = await runs.work({ concurrency: 4 })
// It dies with its test.
process.on('disconnect', () => process.exit())
process.once('SIGTERM', () => void stop())
process.send?.('ready')

async function stop(): Promise<void> {
  await worker.stop()
  await close()
  await pool.end()
  process.exit()
}

/** The store, after one of whose saves the process stands still. */
function sleepy(store: CheckpointStore): CheckpointStore {
  let hasSlept = sleepsBefore === undefined
  return {
    ...store,
    async save(id, checkpoint, expected) {
      await store.save(id, checkpoint, expected)
      const { calls, undos } = checkpoint as Checkpoint
      if (calls.some(({ effect, done }) => effect === 'reversible' && done)) isHeld()
      const isAboutTo =
        sleepsBefore === 'undo'
          ? undos.some(({ hasEnded }) => !hasEnded)
          : calls.some(({ effect, message }) => effect !== undefined && effect !== 'read' && !message)
      if (hasSlept || !isAboutTo) return
      hasSlept = true
      diary.write({ at: 'asleep', run: id, pid: process.pid, time: Date.now() })
      process.kill(process.pid, 'SIGSTOP')
    },
  }
}
