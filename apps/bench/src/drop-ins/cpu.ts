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
import { eagerWay, type Library, type Loop, type LoopName, type LoopWay } from './loops.ts'
import { OWN_CPU } from './scenarios.ts'

/** The CPU time of one loop on one wire. */
export interface LoopCpu {
  readonly loop: LoopName
  readonly wire: WireName
  /** User time of a process that makes {@link CPU_RUNS} runs, in milliseconds: medians of the means of both processes. */
  readonly plainMs: number
  readonly eagerMs: number
  /** The plain loop in a second process, as a ratio to the first. */
  readonly self: Spread
  /** The eager loop as a ratio to the plain one: means of both processes. */
  readonly ratio: Spread
  /** The limit for the median of the ratio: {@link CPU_LIMIT}, or 1 and the spread of the plain loop against itself. */
  readonly limit: number
  readonly isMet: boolean
}

/** The CPU times of the processes in one round, in milliseconds. */
export interface CpuRound {
  readonly plain: Both
  readonly eager: Both
}

type Both = readonly [one: number, other: number]

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
 * Four new processes make the runs by turns, run by run: a slow moment of the machine, which lasts longer than a run,
 * slows all of them. The time to load a library is not counted.
 */
async function roundOf(
  loop: Loop & { readonly library: Library },
  wire: WireName,
  { transport, signal, runs = CPU_RUNS }: CpuOptions,
): Promise<CpuRound> {
  await using processes = new AsyncDisposableStack()
  const start = async (mode: LoopWay) => {
    const peer = processes.use(await startLibrary(loop.library, signal))
    return { peer, mode, loadedMs: peer.cpuUserMs() }
  }
  const plainWay = loop.of ?? loop.name
  const turns = [
    await start(plainWay),
    await start(eagerWay(loop.name)),
    await start(plainWay),
    await start(eagerWay(loop.name)),
  ] as const
  for (let run = 0; run < runs; run++) {
    for (const { peer, mode } of rotated(turns, run)) {
      await measure({ scenario: OWN_CPU, wire, mode }, peer.run, transport, signal)
    }
  }
  const [plain, eager, plainAgain, eagerAgain] = turns
  return { plain: [tookMs(plain), tookMs(plainAgain)], eager: [tookMs(eager), tookMs(eagerAgain)] }
}

function tookMs({ peer, loadedMs }: { readonly peer: Peer; readonly loadedMs: number }): number {
  return peer.cpuUserMs() - loadedMs
}

/**
 * Ratios are within one round, because a slow moment slows all of it. There are two processes of each kind, because
 * processes of the same loop differ by a few percent.
 */
export function compared(rounds: readonly CpuRound[]): Omit<LoopCpu, 'loop' | 'wire'> {
  const self = spreadOf(rounds.map(({ plain: [one, other] }) => other / one))
  const ratio = spreadOf(rounds.map(({ plain, eager }) => meanOf(eager) / meanOf(plain)))
  const limit = Math.max(CPU_LIMIT, self.high, 2 - self.low)
  const medianOf = (times: readonly number[]): number => median(times) ?? Number.NaN
  return {
    plainMs: medianOf(rounds.map(({ plain }) => meanOf(plain))),
    eagerMs: medianOf(rounds.map(({ eager }) => meanOf(eager))),
    self,
    ratio,
    limit,
    isMet: ratio.median <= limit,
  }
}

function meanOf([one, other]: Both): number {
  return (one + other) / 2
}
