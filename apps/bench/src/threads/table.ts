/** The table of a thread's cost, with its limits. */

import { styleText } from 'node:util'
import { bareTable } from '../bare-table.ts'
import { type Bar, barText, worstOf } from '../bars.ts'
import { milliseconds, precise } from '../format.ts'
import { SCENARIOS } from '../scenarios.ts'
import { median, range } from '../stats.ts'
import type { Way } from './contestants.ts'
import { type ThreadCost, UNPACED_RUNS } from './measure-threads.ts'

/** The limit for a turn's median wall time, as a ratio to the run's. */
export const WALL_LIMIT = 1.05

/** How many more writes than its run a turn may wait for. */
export const WRITES_LIMIT = 3

/** With fewer runs the wall time has no meaning. */
export const LEAST_RUNS = 7

const TITLES: Readonly<Record<Way, string>> = { run: 'a run with sqliteStore', turn: 'a turn with sqliteThreads' }

export function threadBars({ runs, wallMs, synced }: ThreadCost): readonly Bar[] {
  const ratio = (median(wallMs.turn) ?? Number.NaN) / (median(wallMs.run) ?? Number.NaN)
  const wall = { title: `a turn takes at most ${WALL_LIMIT} × its run`, limit: WALL_LIMIT }
  const writes = { title: `a turn waits for at most ${WRITES_LIMIT} more writes`, limit: WRITES_LIMIT }
  return [
    ...worstOf(wall, runs < LEAST_RUNS ? [] : [{ value: ratio, where: 'b' }]),
    ...worstOf(writes, [{ value: synced.turn - synced.run, where: 'b' }]),
  ]
}

export function threadsTable(cost: ThreadCost): string {
  const columns = [
    { head: '', width: 30 },
    { head: 'wall', width: 12 },
    { head: 'min … max', width: 20 },
    { head: 'CPU, ms', width: 10 },
    { head: 'synced writes', width: 15 },
  ]
  const row = (way: Way) => [
    `   ${TITLES[way]}`,
    milliseconds(median(cost.wallMs[way]) ?? null),
    (range(cost.wallMs[way]) ?? []).map(milliseconds).join(' … '),
    precise(cost.cpuMs[way]),
    String(cost.synced[way]),
  ]
  const bars = threadBars(cost).map((bar) => styleText(bar.met ? 'green' : 'red', barText(bar)))
  const notes = [
    `wall: ${cost.runs} runs in each way, by turns. CPU and synced writes: ${UNPACED_RUNS} more runs as fast as possible, with a tool of 0 ms, and their medians; CPU of this process, including client and reader.`,
    ...(cost.runs < LEAST_RUNS ? [`The wall time is judged from ${LEAST_RUNS} runs on.`] : []),
  ]
  return [
    '',
    `${styleText('bold', 'The cost of a thread')}`,
    `   ${styleText('dim', `b: ${SCENARIOS.b.shape}`)}`,
    bareTable(columns, [row('run'), row('turn')]),
    '',
    ...bars,
    ...notes.map((note) => styleText('dim', note)),
    '',
  ].join('\n')
}
