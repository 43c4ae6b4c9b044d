/**
 * In its own thread: measures by how many bytes the heap grows with each block of threads that have become idle, and by how many timers all
 * of them. `block`: how many threads run between two measurements. `blocks`: how many are measured. `before`: how many run before them.
 */

import { parentPort, workerData } from 'node:worker_threads'
import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { collectGarbage } from '@meanwhile/tests/garbage'
import { createThreads } from '../src/index.ts'
import { sqliteThreads } from '../src/sqlite.ts'

export interface IdleHeap {
  readonly growths: readonly number[]
  readonly timers: number
  /** How many threads the list has at the end. */
  readonly listed: number
}

const { block, blocks, before }: { readonly block: number; readonly blocks: number; readonly before: number } =
  workerData

async function heap(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    collectGarbage()
  }
  return process.memoryUsage().heapUsed
}

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

const store = sqliteThreads(':memory:')
const pick = () => respond(say('Well.'))
const agentOf = () => createAgent({ model: scriptedModel([pick]) })
const threads = createThreads({ agent: agentOf, store })

async function play(from: number, to: number): Promise<void> {
  for (let n = from; n < to; n += 100) {
    const turns = Array.from({ length: 100 }, (_, index) =>
      threads.send(`'; DROP TABLE turns; -- ${n + index} \0\ud800`, 'x'),
    )
    for (const turn of await Promise.all(turns)) for await (const { type } of turn.events()) void type
  }
}

await play(0, before * block)
let last = await heap()
const timersBefore = timers()
const growths: number[] = []
for (let from = before * block; from < (before + blocks) * block; from += block) {
  await play(from, from + block)
  const now = await heap()
  growths.push(now - last)
  last = now
}
const { length: listed } = await threads.list({ limit: 10 * block })
const posted: IdleHeap = { growths, timers: timers() - timersBefore, listed }
store.close()
parentPort?.postMessage(posted)
