/** Makes short runs with one set-up, and reports what they took. Its arguments are the set-up, a folder, and the URL of a database. */

import { setTimeout as wait } from 'node:timers/promises'
import { messageOf } from '@meanwhile/core'
import { type OpenSetUp, openSetUp } from './open-setup.ts'
import { isSetUp, SETUPS } from './setups.ts'
import { ANSWER, CALLS_PER_RUN } from './short-run.ts'

export interface Request {
  readonly runs: number
  readonly atOnce: number
  /** How many runs are made first, and not counted. */
  readonly warmUp: number
}

export interface Took {
  /** From the start of each run to its result, in milliseconds. */
  readonly wallMs: readonly number[]
  /** The CPU time of this process for all runs, in milliseconds. */
  readonly cpuMs: number
  readonly saves: number
  /** Transactions that wrote or notified. */
  readonly commits: number
}

export type Answer = Took | { readonly problem: string }

/** The longest time between two looks of an engine at its queue, in milliseconds. */
const LONGEST_POLL_MS = 200

const [, , name = '', folder = '', url = ''] = process.argv
let opening: Promise<OpenSetUp> | undefined

process.on('message', (request: Request) => {
  void answer(request).then((said) => process.send?.(said))
})
// Connections keep a process alive.
process.on('disconnect', () => process.exit())

async function answer(request: Request): Promise<Answer> {
  try {
    if (!isSetUp(name)) throw new Error(`there is no set-up ${name}`)
    return await took(await (opening ??= openSetUp(SETUPS[name], { folder, url })), request)
  } catch (error) {
    return { problem: messageOf(error) }
  }
}

async function took(setUp: OpenSetUp, { runs, atOnce, warmUp }: Request): Promise<Took> {
  const stop = await setUp.work(atOnce)
  try {
    await wallTimes(setUp, warmUp, atOnce)
    const commits = await setUp.commits()
    const saves = setUp.saves()
    const executions = setUp.executions()
    const cpu = process.cpuUsage()
    const wallMs = await wallTimes(setUp, runs, atOnce)
    const after = await setUp.commits()
    const { user, system } = process.cpuUsage(cpu)
    const made = setUp.executions() - executions
    if (made !== runs * CALLS_PER_RUN) throw new Error(`${made} calls were made in ${runs} runs`)
    return { wallMs, cpuMs: (user + system) / 1_000, saves: setUp.saves() - saves, commits: after - commits }
  } finally {
    await stop()
  }
}

async function wallTimes(setUp: OpenSetUp, runs: number, atOnce: number): Promise<readonly number[]> {
  const wallMs: number[] = []
  let begun = 0
  const lane = async () => {
    while (begun < runs) {
      begun++
      // Without a pause each run would begin at the same moment between two looks.
      if (setUp.isPolling && atOnce === 1) await wait(Math.random() * LONGEST_POLL_MS)
      const start = performance.now()
      const text = await setUp.run()
      if (text !== ANSWER) throw new Error(`the answer was ${JSON.stringify(text)}`)
      wallMs.push(performance.now() - start)
    }
  }
  await Promise.all(Array.from({ length: Math.min(runs, atOnce) }, lane))
  return wallMs
}
