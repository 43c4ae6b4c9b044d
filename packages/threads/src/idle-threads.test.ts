import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createAgent } from '@meanwhile/core'
import { respond, say, scriptedModel } from '@meanwhile/core/testing'
import { expect, test } from 'vitest'
import { createThreads } from './index.ts'
import { sqliteThreads } from './sqlite.ts'

setFlagsFromString('--expose-gc')
const gc: () => void = runInNewContext('gc')

async function heap(): Promise<number> {
  for (let round = 0; round < 8; round++) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    gc()
  }
  return process.memoryUsage().heapUsed
}

/** How many bytes an idle thread may use: less than an entry of a map and its key. */
const MOST_OF_A_THREAD = 40

/** How many threads run between two measurements of the heap. */
const BLOCK = 2_000

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

test('ten thousand idle threads use no memory and no timers in the process (TH9)', async () => {
  const store = sqliteThreads(':memory:')
  const pick = () => respond(say('Well.'))
  const agentOf = () => createAgent({ model: scriptedModel([pick]) })
  const threads = createThreads({ agent: agentOf, store })
  const play = async (from: number, to: number) => {
    for (let n = from; n < to; n += 100) {
      const turns = Array.from({ length: 100 }, (_, index) =>
        threads.send(`'; DROP TABLE turns; -- ${n + index} \0\ud800`, 'x'),
      )
      for (const turn of await Promise.all(turns)) for await (const { type } of turn.events()) void type
    }
  }
  await play(0, 3_000)
  const before = { heap: await heap(), timers: timers() }
  const growths: number[] = []
  for (let from = 3_000, last = before.heap; from < 13_000; from += BLOCK) {
    await play(from, from + BLOCK)
    const now = await heap()
    growths.push(now - last)
    last = now
  }
  expect(timers()).toBeLessThanOrEqual(before.timers)
  // Memory that threads keep grows with each block. The runtime itself allocates or frees memory only in a few blocks.
  const [, , median] = growths.toSorted((a, b) => a - b)
  expect(median).toBeLessThan(BLOCK * MOST_OF_A_THREAD)
  expect(await threads.list({ limit: 20_000 })).toHaveLength(13_000)
  store.close()
}, 240_000)
