/** Measures the cost of a thread: scenario b as a run with checkpoints and as a turn of a thread, by turns. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { WireName } from '@meanwhile/harness/server'
import { withInstantTools } from '../drop-ins/scenarios.ts'
import { measure } from '../measure.ts'
import { rotated } from '../rotated.ts'
import type { Scenario } from '../scenario.ts'
import { SCENARIOS } from '../scenarios.ts'
import { median } from '../stats.ts'
import { openTransport, type TransportName } from '../transport.ts'
import { openContestants, WAYS, type Way } from './contestants.ts'

export interface ThreadCost {
  /** How many paced runs were made in each way. */
  readonly runs: number
  /** Wall times in milliseconds, run by run. */
  readonly wallMs: Readonly<Record<Way, readonly number[]>>
  /** CPU time of a run that streams as fast as possible, in milliseconds: medians. */
  readonly cpuMs: Readonly<Record<Way, number>>
  /** Writes of such a run that waited for the disk: medians, because what shares a write depends on how busy the machine is. */
  readonly synced: Readonly<Record<Way, number>>
}

export interface ThreadCostOptions {
  readonly runs: number
  readonly signal: AbortSignal
  readonly transport?: TransportName
  /** Runs in each way that stream as fast as possible. Default {@link UNPACED_RUNS}. */
  readonly unpacedRuns?: number
  /** Called before each run. */
  onRun?(): void
}

export const UNPACED_RUNS = 60

/** For compiled code and open connections. */
const WARM_UP_RUNS = 5

const WIRE: WireName = 'openai-chat'

const { pace: _, ...instant } = withInstantTools(SCENARIOS.b)

const UNPACED: Scenario = { ...instant, id: 'b-cpu', shape: '1 call of 0 ms, as fast as possible', timing: 'at-once' }

/** Rejects if a run does not count. */
export async function measureThreads(options: ThreadCostOptions): Promise<ThreadCost> {
  const { runs, signal, onRun, transport: name = 'server', unpacedRuns = UNPACED_RUNS } = options
  await using transport = await openTransport(name, signal)
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-bench-'))
  try {
    using contestants = openContestants(folder)
    const wallMs: Record<Way, number[]> = { run: [], turn: [] }
    const play = async (scenario: Scenario, round: number) => {
      for (const way of rotated(WAYS, round)) {
        onRun?.()
        const subject = { scenario, wire: WIRE, mode: 'eager' } as const
        const sample = await measure(subject, contestants.contestant[way], transport, signal)
        if (scenario.pace) wallMs[way].push(sample.wallMs)
      }
    }
    for (let round = 0; round < WARM_UP_RUNS + unpacedRuns; round++) await play(UNPACED, round)
    const costOf = (way: Way) => contestants.costs[way].slice(WARM_UP_RUNS)
    const unpaced = { run: costOf('run'), turn: costOf('turn') }
    for (let round = 0; round < runs; round++) await play(SCENARIOS.b, round)
    const both = <Value>(of: (way: Way) => Value): Record<Way, Value> => ({ run: of('run'), turn: of('turn') })
    return {
      runs,
      wallMs,
      cpuMs: both((way) => median(unpaced[way].map(({ cpuMs }) => cpuMs)) ?? Number.NaN),
      synced: both((way) => median(unpaced[way].map(({ synced }) => synced)) ?? Number.NaN),
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The total number of runs. */
export function runsInAll(runs: number): number {
  return WAYS.length * (WARM_UP_RUNS + UNPACED_RUNS + runs)
}
