/** A process that plays seeds with one core, and writes a line for each: the seed, a tab, and the trace. */

import { countRuns } from '../counted-runs.ts'
import { StandingClock } from '../standing-clock.ts'
import type { ComparedPlay } from './compared-play.ts'
import { takePackagesOf } from './other-packages.ts'

/** The input of such a process, as JSON. */
export interface Work {
  readonly play: PlayName
  /** The checkout with the core. Default: this one. */
  readonly folder?: string
  readonly seeds: Seeds
}

/** Every n-th seed from one to another, which is excluded. */
export interface Seeds {
  readonly from: number
  readonly to: number
  readonly every: number
}

export type PlayName = 'reentrancy' | 'interleavings' | 'equivalence'

/** They import the packages, so they are loaded when the packages are known. */
const PLAYS: Readonly<Record<PlayName, () => Promise<{ readonly play: ComparedPlay }>>> = {
  reentrancy: () => import('./reentrancy.ts'),
  interleavings: () => import('./interleavings.ts'),
  equivalence: () => import('./equivalence.ts'),
}

async function work({ play: name, folder, seeds }: Work): Promise<void> {
  if (folder !== undefined) takePackagesOf(folder)
  const { play } = await PLAYS[name]()
  const clock = new StandingClock()
  clock.install()
  // An unhandled rejection would end the process, and is not compared.
  process.on('unhandledRejection', (reason) => process.stderr.write(`unhandled: ${String(reason)}\n`))
  for (let seed = seeds.from; seed < seeds.to; seed += seeds.every) {
    clock.reset()
    countRuns()
    process.stdout.write(`${seed}\t${await play.trace(seed, clock)}\n`)
  }
}

await work(JSON.parse(process.argv[2] as string) as Work)
