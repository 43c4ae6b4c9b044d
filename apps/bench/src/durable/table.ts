/** The table of what durability costs a run, for the console. */

import { styleText } from 'node:util'
import { bareTable } from '../bare-table.ts'
import { type Environment, machineText } from '../environment.ts'
import { NONE, precise } from '../format.ts'
import { median, percentile, range } from '../stats.ts'
import { type DurableCost, PLAN, type SetUpCost } from './measure-durable.ts'
import { SETUPS } from './setups.ts'
import { SHAPE } from './short-run.ts'

export function durableTable({ version, syncMs, setUps }: DurableCost, machine: Environment): string {
  const columns = [
    { head: '', width: 44 },
    { head: 'CPU, ms', width: 10 },
    { head: 'min … max', width: 14 },
    { head: 'one at a time, ms', width: 19 },
    { head: 'synchronous_commit off', width: 24 },
    { head: 'saves', width: 8 },
    { head: 'commits', width: 10 },
  ]
  const row = ({ name, cpuMs, wallMs, unsyncedWallMs, saves, commits }: SetUpCost) => [
    `   ${SETUPS[name].title}`,
    precise(median(cpuMs)),
    (range(cpuMs) ?? []).map(precise).join(' … '),
    precise(median(wallMs)),
    precise(median(unsyncedWallMs)),
    perRun(saves),
    perRun(commits),
  ]
  const p95 = percentile(syncMs, 0.95)
  return [
    '',
    styleText('bold', 'What durability costs a run'),
    `   ${styleText('dim', SHAPE)}`,
    bareTable(columns, setUps.map(row)),
    '',
    `   The disk's own sync: ${precise(median(syncMs))} ms (95 % of them at most ${precise(p95)} ms)`,
    '',
    ...[...NOTES, `PostgreSQL ${version}. Machine: ${machineText(machine)}.`].map((note) =>
      styleText('dim', `   ${note}`),
    ),
    '',
  ].join('\n')
}

/** `4`, `10.3`: what others write at the same time makes a fraction. */
function perRun(count: number): string {
  return count === 0 ? NONE : String(Number(count.toFixed(1)))
}

const NOTES = [
  `CPU: user and system time of the process that starts the runs and makes them, without PostgreSQL; ${PLAN.atOnce} runs at once.`,
  'Saves and commits are counted in the same runs: checkpoints saved, and transactions that wrote or notified.',
  'One at a time: the median from the start to the result. Nothing reads the event log.',
  'synchronous_commit off: the same on a server with that setting; a save waits for the disk nevertheless.',
  "The disk's own sync: this program writes 8 kB over a file in the folder for temporary files, and calls fdatasync.",
  'Compare the rows: the times depend on this machine and on this moment.',
]
