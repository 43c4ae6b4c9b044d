/** In its own thread: measures how many bytes the heap grows by with each letter of the answers of finished turns in memory. `letters`: of one answer. */

import { parentPort, workerData } from 'node:worker_threads'
import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { collectGarbage } from '@meanwhile/tests/garbage'
import { createThreads, memoryThreads } from '../src/index.ts'

const { turns, letters }: { readonly turns: number; readonly letters: number } = workerData

async function heap(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    collectGarbage()
  }
  return process.memoryUsage().heapUsed
}

const agent = () => createAgent({ model: scriptedModel([() => respond(say('a'.repeat(letters)))]) })
const threads = createThreads({ agent, store: memoryThreads() })
const play = async (thread: string) => await (await threads.send(thread, 'x')).result

await play('first')
const before = await heap()
for (let n = 0; n < turns; n++) await play(`t${n}`)
const grown = (await heap()) - before
const { length } = (await threads.read('t0')).messages
parentPort?.postMessage({ bytesOfLetter: grown / turns / letters, messages: length })
