/** Compares the CPU time of a loop with its drop-in and without, in processes that take turns. */

import type { WireName } from '@meanwhile/harness/server'
import { measure } from '../measure.ts'
import { spreadOf } from '../overhead/cpu.ts'
import type { Spread } from '../overhead/table.ts'
import type { Peer } from '../peers/spawn-peer.ts'
import { rotated } from '../rotated.ts'
import { median } from '../stats.ts'
import type { Transport } from '../transport.ts'
import { startLibrary } from './libraries.ts'
import { eagerWay, type Library, type Loop, type LoopName } from './loops.ts'
import { OWN_CPU } from './scenarios.ts'

/** The CPU time of one loop on one wire. */
export interface LoopCpu {
  readonly loop: LoopName
  readonly wire: WireName
  /** User time of a process that makes {@link CPU_RUNS} runs, in milliseconds: medians. `plainMs`: of the mean of both. */
  readonly plainMs: number
  readonly eagerMs: number
  /** The plain loop in a second process, as a ratio to the first. */
  readonly self: Spread
  /** The eager loop as a ratio to the mean of both plain processes. */
  readonly ratio: Spread
  /** The limit for the median of the ratio: {@link CPU_LIMIT}, or 1 and the spread of the plain loop against itself. */
  readonly limit: number
  readonly isMet: boolean
}

/** The CPU times of the processes in one round, in milliseconds. */
export interface CpuRound {
  readonly plain: number
  readonly again: number
  readonly eager: number
}

/** How many runs a process makes, and how many rounds of processes there are. */
export const CPU_RUNS = 50
export const CPU_ROUNDS = 5

export const CPU_LIMIT = 1.15

export interface CpuOptions {
  readonly transport: Transport
  readonly signal: AbortSignal
  readonly rounds?: number
  readonly runs?: number
  /** Called before each round. */
  onRound?(): void
}

/** Rejects if a run does not count. */
export async function cpuOf(
  loop: Loop & { readonly library: Library },
  wire: WireName,
  options: CpuOptions,
): Promise<LoopCpu> {
  const { rounds = CPU_ROUNDS, onRound } = options
  const made: CpuRound[] = []
  for (let round = 0; round < rounds; round++) {
    onRound?.()
    made.push(await roundOf(loop, wire, options))
  }
  return { loop: loop.name, wire, ...compared(made) }
}

/**
 * Three new processes make the runs by turns, run by run: a slow moment of the machine, which lasts longer than a run,
 * slows all three. The time to load a library is not counted.
 */
async function roundOf(
  loop: Loop & { readonly library: Library },
  wire: WireName,
  { transport, signal, runs = CPU_RUNS }: CpuOptions,
): Promise<CpuRound> {
  await using plain = await startLibrary(loop.library, signal)
  await using eager = await startLibrary(loop.library, signal)
  await using again = await startLibrary(loop.library, signal)
  const turns = {
    plain: { peer: plain, mode: loop.name, loaded: plain.cpuUserMs() },
    eager: { peer: eager, mode: eagerWay(loop.name), loaded: eager.cpuUserMs() },
    again: { peer: again, mode: loop.name, loaded: again.cpuUserMs() },
  }
  for (let run = 0; run < runs; run++) {
    for (const { peer, mode } of rotated(Object.values(turns), run)) {
      await measure({ scenario: OWN_CPU, wire, mode }, peer.run, transport, signal)
    }
  }
  const took = ({ peer, loaded }: { readonly peer: Peer; readonly loaded: number }) => peer.cpuUserMs() - loaded
  return { plain: took(turns.plain), eager: took(turns.eager), again: took(turns.again) }
}

/**
 * Ratios are within one round, because a slow moment slows all of it. The eager process is compared with the mean of
 * both plain ones, because two processes of the same loop differ by a few percent.
 */
export function compared(rounds: readonly CpuRound[]): Omit<LoopCpu, 'loop' | 'wire'> {
  const self = spreadOf(rounds.map(({ plain, again }) => again / plain))
  const ratio = spreadOf(rounds.map((round) => round.eager / plainOf(round)))
  const limit = Math.max(CPU_LIMIT, self.high, 2 - self.low)
  const medianOf = (times: readonly number[]): number => median(times) ?? Number.NaN
  return {
    plainMs: medianOf(rounds.map(plainOf)),
    eagerMs: medianOf(rounds.map(({ eager }) => eager)),
    self,
    ratio,
    limit,
    isMet: ratio.median <= limit,
  }
}

function plainOf({ plain, again }: CpuRound): number {
  return (plain + again) / 2
}
