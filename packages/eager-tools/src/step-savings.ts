/** Computes what starting early has saved in one step, from the times of its calls. */

import type { Budget } from './budget.ts'
import { heldBack } from './held-back.ts'
import { makespan, type Place, type Work } from './makespan.ts'
import type { CallSavings, StepSavings } from './savings.ts'

/** The calls of one step. Times are relative to the start of its model call. */
export interface StepCalls extends Pick<StepSavings, 'step' | 'streamMs' | 'stoodMs'> {
  readonly slots: number
  /** The calls that the loop executed, in call order. */
  readonly executed: readonly CallSavings[]
  readonly discarded: readonly CallSavings[]
  /** The concurrency limits of tools, by name. */
  readonly limits?: ReadonlyMap<string, Place>
  /** How long all calls together took whose own times are unknown: they are counted as one call that began when the loop started its calls. */
  readonly unknownMs?: number
}

export function savingsOf(of: StepCalls): StepSavings {
  const { step, slots, streamMs, stoodMs, executed, discarded, limits, unknownMs = 0 } = of
  const held = heldBack([...executed, ...discarded], { slots, limits, stoodMs })
  const works: Work[] = executed.map((call) => {
    return { ms: workedMs(call), at: limits?.get(call.tool), after: held.get(call) ?? 0 }
  })
  works.push({ ms: unknownMs })
  const isEarly = discarded.length > 0 || executed.some(({ evidence }) => evidence)
  const ends = executed.map(({ startedMs = 0, durationMs }) => micro(startedMs + durationMs))
  const actualMs = ends.reduce((end, one) => Math.max(end, one), micro(stoodMs + unknownMs))
  const parallelMs = micro(stoodMs + makespan(works, slots))
  return {
    step,
    ...(Number.isFinite(slots) && { slots }),
    streamMs,
    stoodMs,
    actualMs,
    sequentialMs: micro(stoodMs + makespan(works, 1)),
    parallelMs,
    savedMs: isEarly ? micro(parallelMs - actualMs) : 0,
    wastedMs: micro(discarded.reduce((sum, call) => sum + workedMs(call), 0)),
    calls: [...executed, ...discarded],
  }
}

/** Distributes the saving of a step over its early calls, by how long each ran while the model streamed. */
export function credit(budget: Budget, { calls, savedMs, streamMs }: StepSavings): void {
  const early = calls.filter(({ evidence, outcome }) => evidence && outcome !== 'discarded')
  const hidden = early.map(({ startedMs = 0, durationMs, waitedMs = 0 }) =>
    Math.max(0, Math.min(startedMs + durationMs, streamMs) - startedMs - waitedMs),
  )
  const total = hidden.reduce((sum, ms) => sum + ms, 0)
  if (total === 0) return
  for (const [index, { tool }] of early.entries()) budget.add(tool, (savedMs * (hidden[index] ?? 0)) / total)
}

/** Returns the time that a call worked: its duration without waits for the rest of its input. */
export function workedMs({ durationMs, waitedMs = 0 }: Pick<CallSavings, 'durationMs' | 'waitedMs'>): number {
  return durationMs - waitedMs
}

/** Rounds to microseconds, the precision of epoch times. */
export function micro(ms: number): number {
  return Math.round(ms * 1000) / 1000 + 0
}
