// A worker: start any number of them, on any machine.

import { boss, pool, runs } from './agent.ts'
import { telemetry } from './telemetry.ts'

const worker = await runs.work({ concurrency: 20 })
console.log(`worker ${process.pid} is ready`)
process.send?.('ready')

async function stop(): Promise<void> {
  await worker.stop()
  await boss.stop()
  await pool.end()
  await telemetry.shutdown()
  process.exit()
}
process.once('SIGTERM', () => void stop())
process.once('disconnect', () => process.exit()) // the demo program has ended
