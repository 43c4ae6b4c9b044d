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

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

test('ten thousand threads that have become idle leave nothing in the process (TH9)', async () => {
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
  await play(3_000, 13_000)
  const after = { heap: await heap(), timers: timers() }
  expect(after.timers).toBeLessThanOrEqual(before.timers)
  expect(after.heap - before.heap).toBeLessThan(1024 * 1024)
  expect(await threads.list({ limit: 20_000 })).toHaveLength(13_000)
  store.close()
}, 240_000)
