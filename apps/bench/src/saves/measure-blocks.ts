/** Measures how long the calls of one step hold the event loop. */

import { setImmediate as turn } from 'node:timers/promises'
import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, tool } from '@meanwhile/core'
import { standard } from '@meanwhile/middleware'
import { z } from 'zod'
import { median } from '../stats.ts'

const CALLS = 1_000

/** Runs that are not measured, in which V8 compiles the code. */
const WARM_UPS = 5

/** The longest turn of the event loop in a run of one step with 1,000 calls. */
export interface Block {
  readonly title: 'without middleware' | 'with standard()'
  /** CPU time of the thread, in milliseconds: the median. */
  readonly ms: number
}

export async function measureBlocks(runs: number, signal: AbortSignal): Promise<readonly Block[]> {
  const blocks: Block[] = []
  for (const [title, middleware] of [
    ['without middleware', []],
    ['with standard()', standard()],
  ] as const) {
    const longest: number[] = []
    for (let run = 0; run < WARM_UPS + runs; run++) longest.push(await longestTurn(middleware, signal))
    blocks.push({ title, ms: median(longest.slice(WARM_UPS)) ?? Number.NaN })
  }
  return blocks
}

/** CPU time, because on a busy machine the thread may stand still in any turn. */
async function longestTurn(middleware: readonly Middleware[], signal: AbortSignal): Promise<number> {
  const look = tool({
    name: 'look',
    description: 'Looks at a number.',
    input: z.object({ n: z.number() }),
    effect: 'read',
    execute: async ({ n }) => `saw ${n}`,
  })
  const requested = Array.from({ length: CALLS }, (_, n) => call('look', { n }))
  const model = scriptedModel([respond(...requested), respond(say('Done.'))])
  const agent = createAgent({ name: 'bench-blocks', model, tools: [look], middleware })
  let isOver = false
  const running = agent.run('Look at all numbers.', { signal }).finally(() => {
    isOver = true
  })
  let longest = 0
  while (!isOver) {
    const before = process.threadCpuUsage()
    await turn()
    const { user, system } = process.threadCpuUsage(before)
    longest = Math.max(longest, (user + system) / 1_000)
  }
  await running
  return longest
}
