/**
 * Compares the CPU time of the present core with that of an older core. Both do the same work by turns, each in its own process. The older
 * core also does it in a second process: how much that differs from the first shows the noise of the machine and of V8's compiler.
 */

import { fileURLToPath } from 'node:url'
import { startProcess } from '../../asked-process.ts'
import { rotated } from '../../rotated.ts'
import { UsageError } from '../../usage-error.ts'
import { buildCore } from '../build-core.ts'
import { type Comparison, comparisonOf, type Round, type Start } from './comparison.ts'
import { findOlderCore, type OlderCore } from './older-core.ts'
import type { Answer, Request } from './process.ts'
import { WORK_NAMES, WORKS, type WorkName } from './works.ts'

export interface AgainstOptions {
  /** The folder of the older core. */
  readonly folder: string
  readonly signal: AbortSignal
  readonly plan?: Plan
  /** Called before each round. */
  onRound?(work: WorkName): void
}

export interface Plan {
  readonly works: readonly WorkName[]
  /** How many times three new processes are started for each kind of work. */
  readonly starts: number
  /** The share of each work that is done in a round. */
  readonly part: number
}

export const PLAN: Plan = { works: WORK_NAMES, starts: 9, part: 1 }

/** How many rounds all the work has. */
export function roundsOf({ works, starts }: Plan): number {
  return works.reduce((sum, work) => sum + starts * (WORKS[work].warmUps + WORKS[work].rounds), 0)
}

const PROGRAM = fileURLToPath(new URL('./process.ts', import.meta.url))

export interface Against {
  readonly older: OlderCore
  readonly comparisons: readonly TitledComparison[]
}

export interface TitledComparison extends Comparison {
  /** The title of the work. */
  readonly title: string
}

/** @throws {UsageError} The folder has no built core, or that core cannot do the work. */
export async function against({ folder, signal, plan = PLAN, onRound }: AgainstOptions): Promise<Against> {
  const older = await findOlderCore(folder)
  await using built = await buildCore(signal)
  const cores: Cores = { older: older.index, again: older.index, present: built.index }
  const made = new Map<WorkName, readonly Start[]>()
  // Each kind of work is repeated, so that a bad minute of the machine does not hit only one.
  for (let start = 0; start < plan.starts; start++) {
    for (const work of plan.works) {
      const rounds = await roundsOfOneStart(work, cores, { signal, plan, onRound: () => onRound?.(work) })
      made.set(work, [...(made.get(work) ?? []), rounds])
    }
  }
  const comparisons = [...made].map(([work, starts]) => ({ title: WORKS[work].title, ...comparisonOf(starts) }))
  return { older, comparisons }
}

/** The file of each process's core. */
type Cores = Readonly<Record<keyof Round, string>>

interface StartOptions {
  readonly signal: AbortSignal
  readonly plan: Plan
  onRound(): void
}

async function roundsOfOneStart(work: WorkName, cores: Cores, { signal, plan, onRound }: StartOptions): Promise<Start> {
  await using older = start('older')
  await using again = start('again')
  await using present = start('present')
  const all = [older, again, present]
  const { size, warmUps, rounds } = WORKS[work]
  for (const one of all) await one.cpuUs(0)
  const counted: Round[] = []
  for (let round = 0; round < warmUps + rounds; round++) {
    onRound()
    const took = { older: 0, again: 0, present: 0 }
    for (const one of rotated(all, round)) took[one.who] = await one.cpuUs(Math.ceil(size * plan.part))
    if (round >= warmUps) counted.push(took)
  }
  return counted

  function start(who: keyof Round) {
    const child = startProcess<Request, Answer>(PROGRAM, [cores[who], work], { signal, execArgv: [] })
    return {
      who,
      async cpuUs(size: number): Promise<number> {
        const answer = await child.ask({ size })
        if (!('problem' in answer)) return answer.cpuUs
        const message = `the core ${cores[who]}: ${answer.problem}`
        throw who === 'present' ? new Error(message) : new UsageError(message)
      },
      [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
    }
  }
}
