import { createAgent } from '@meanwhile/core'
import { respond, say, scriptedModel } from '@meanwhile/core/testing'
import { collectGarbage } from '@meanwhile/tests/garbage'
import { sized } from '@meanwhile/tests/size'
import { expect, test } from 'vitest'
import { createThreads } from './index.ts'
import { sqliteThreads } from './sqlite.ts'

async function heap(): Promise<number> {
  for (let round = 0; round < 8; round++) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    collectGarbage()
  }
  return process.memoryUsage().heapUsed
}

/** How many bytes an idle thread may use: less than an entry of a map and its key. */
const MOST_OF_A_THREAD = 40

/** How many threads run between two measurements of the heap. */
const BLOCK = sized({ small: 400, middle: 600, whole: 20_000 })

/** So many blocks are measured, after one more. */
const BLOCKS = 5

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

test('idle threads use no memory and no timers in the process (TH9)', async () => {
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
  await play(0, BLOCK)
  const before = { heap: await heap(), timers: timers() }
  const growths: number[] = []
  for (let from = BLOCK, last = before.heap; from <= BLOCKS * BLOCK; from += BLOCK) {
    await play(from, from + BLOCK)
    const now = await heap()
    growths.push(now - last)
    last = now
  }
  expect(timers()).toBeLessThanOrEqual(before.timers)
  // Memory that threads keep grows with each block. The runtime itself allocates or frees memory only in some.
  expect(Math.min(...growths)).toBeLessThan(BLOCK * MOST_OF_A_THREAD)
  expect(await threads.list({ limit: 10 * BLOCK })).toHaveLength((BLOCKS + 1) * BLOCK)
  store.close()
})
