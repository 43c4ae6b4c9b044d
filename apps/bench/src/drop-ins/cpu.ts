/** Compares the CPU time of a loop with its drop-in and without, in processes that take turns. */

import type { WireName } from '@meanwhile/harness/server'
import { measure } from '../measure.ts'
import type { Way } from '../modes.ts'
import { spreadOf } from '../overhead/cpu.ts'
import type { Spread } from '../overhead/table.ts'
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
  /** User time of a process that makes {@link CPU_RUNS} runs, in milliseconds: medians. */
  readonly plainMs: number
  readonly eagerMs: number
  /** The plain loop in a second process, as a ratio to the first. */
  readonly self: Spread
  /** The eager loop as a ratio to the plain one. */
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
    const took = { plain: 0, again: 0, eager: 0 }
    const turns = [
      { who: 'plain', way: loop.name },
      { who: 'eager', way: eagerWay(loop.name) },
      { who: 'again', way: loop.name },
    ] as const
    for (const { who, way } of rotated(turns, round)) took[who] = await userMs(loop.library, way, wire, options)
    made.push(took)
  }
  return { loop: loop.name, wire, ...compared(made) }
}

/** Ratios are within one round, because a slow moment slows all of it. */
export function compared(rounds: readonly CpuRound[]): Omit<LoopCpu, 'loop' | 'wire'> {
  const self = spreadOf(rounds.map(({ plain, again }) => again / plain))
  const ratio = spreadOf(rounds.map(({ plain, eager }) => eager / plain))
  const limit = Math.max(CPU_LIMIT, self.high, 2 - self.low)
  const medianOf = (times: readonly number[]): number => median(times) ?? Number.NaN
  return {
    plainMs: medianOf(rounds.map(({ plain }) => plain)),
    eagerMs: medianOf(rounds.map(({ eager }) => eager)),
    self,
    ratio,
    limit,
    isMet: ratio.median <= limit,
  }
}

/** The user time of a new process that makes the runs one after another; loading is not counted. */
async function userMs(
  library: Library,
  mode: Way,
  wire: WireName,
  { transport, signal, runs = CPU_RUNS }: CpuOptions,
): Promise<number> {
  await using peer = await startLibrary(library, signal)
  const before = peer.cpuUserMs()
  for (let run = 0; run < runs; run++) await measure({ scenario: OWN_CPU, wire, mode }, peer.run, transport, signal)
  return peer.cpuUserMs() - before
}
