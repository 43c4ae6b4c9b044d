/** A worker that a test kills: its arguments are the driver, the URL of the database, the diary, its name, and whether its model varies. */

import { postgresStore } from '@meanwhile/core/stores/postgres'
import { Pool } from 'pg'
import { durableRuns, type Engine } from '../src/index.ts'
import { clerk, diaryIn } from './clerk.ts'
import { type DriverName, openEngine } from './drivers.ts'

const [driver = 'pg-boss', url = '', path = '', name = '', model = ''] = process.argv.slice(2)
const diary = diaryIn(path)
const pool = new Pool({ connectionString: url, max: 10 })
pool.on('error', () => {})
const { engine, close } = await openEngine(driver as DriverName, url, name)
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
const runs = durableRuns({
  agents: [clerk(diary, model === 'varied')],
  store: postgresStore({ pool }),
  pool,
  engine: telling,
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
