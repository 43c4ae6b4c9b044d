/**
 * Measures what an SDK adds to a run. The same runs are made without one, with one, and without one but followed by the SDK calls of such a
 * run: by turns, each in a separate process, as an application either has an SDK or not.
 */

import { fileURLToPath } from 'node:url'
import { type AskedProcess, type ProcessOptions, startProcess } from '../asked-process.ts'
import { rotated } from '../rotated.ts'
import { spreadOf } from './cpu.ts'
import type { Answer, Mode, Request } from './span-cost-process.ts'
import type { Spread } from './table.ts'

export interface SpanCost {
  readonly spansPerRun: number
  /** Microseconds of CPU of a run without an SDK. */
  readonly without: Spread
  /** Microseconds of CPU that an SDK adds per span. */
  readonly perSpan: Spread
  /** The part of it that the same SDK calls cost without core. */
  readonly sdkAlone: Spread
}

interface SpanCostOptions extends ProcessOptions {
  readonly rounds?: number
  readonly runs?: number
  /** Runs of each before the first that counts. */
  readonly warmUp?: number
}

const PROGRAM = fileURLToPath(new URL('./span-cost-process.ts', import.meta.url))

/** Many short rounds, each with all three, in another order: a busy second of the machine affects them equally. */
export async function spanCost({
  signal,
  execArgv,
  rounds = 80,
  runs = 40,
  warmUp = 5_000,
}: SpanCostOptions): Promise<SpanCost> {
  await using untraced = start('untraced')
  await using traced = start('traced')
  await using repeated = start('repeated')
  const all = [untraced, traced, repeated]
  let spansPerRun = 0
  for (const one of all) ({ spansPerRun } = await one.ask({ runs: warmUp }))
  const costs: Cost[] = []
  for (let round = 0; round < rounds; round++) {
    const cost = { untraced: 0, traced: 0, repeated: 0 }
    for (const one of rotated(all, round)) cost[one.mode] = (await one.ask({ runs })).cpuUs / runs
    costs.push(cost)
  }
  const made = (warmUp + rounds * runs) * spansPerRun
  for (const one of [traced, repeated]) {
    const { exported } = await one.ask({ runs: 0, shutdown: true })
    if (exported !== made) throw new Error(`${exported} of ${made} spans were exported`)
  }
  return costOf(costs, spansPerRun)

  function start(mode: Mode): AskedProcess<Request, Answer> & { readonly mode: Mode } {
    return { mode, ...startProcess<Request, Answer>(PROGRAM, [mode], { signal, execArgv }) }
  }
}

/** Microseconds of CPU of a run, in one round. */
export type Cost = Readonly<Record<Mode, number>>

/** Differences within a round: a slow moment slows all of it. */
export function costOf(costs: readonly Cost[], spansPerRun: number): SpanCost {
  const added = (mode: Mode) => spreadOf(costs.map((cost) => (cost[mode] - cost.untraced) / spansPerRun))
  const without = spreadOf(costs.map(({ untraced }) => untraced))
  return { spansPerRun, without, perSpan: added('traced'), sdkAlone: added('repeated') }
}
