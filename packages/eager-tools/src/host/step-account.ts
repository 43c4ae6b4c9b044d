/** Computes what starting early has saved in one step of another library's loop. */

import type { ToolCall } from '@meanwhile/core'
import type { Budget } from '../budget.ts'
import { makespan } from '../makespan.ts'
import type { CallSavings, StepSavings } from '../savings.ts'
import { micro } from '../step-savings.ts'
import type { EarlyCall } from './early-call.ts'

/** The measurements of one step. Times are in `performance.now()`. */
export interface StepAccount {
  readonly step: number
  readonly slots: number
  readonly began: number
  /** When the response had ended and the host ran its calls. */
  readonly stood: number | undefined
  /** When the host had finished the step. */
  readonly over: number
  /** When the arguments of each call were complete, by call id. */
  readonly certain: ReadonlyMap<string, number>
  readonly early: readonly EarlyCall[]
  /** The calls of the last response, in call order. */
  readonly requested: readonly ToolCall[]
}

/**
 * The durations of calls that the host made itself are unknown here. Together they count as one call from the end of
 * the response to the end of the step, so that the saving is never overstated.
 */
export function stepSavings({ step, slots, began, stood, over, certain, early, requested }: StepAccount): StepSavings {
  const stoodMs = micro((stood ?? over) - began)
  const accountOf = (one: EarlyCall): CallSavings => {
    const { started = over, ended = over } = one
    const at = certain.get(one.call.id)
    return {
      callId: one.id,
      tool: one.tool.name,
      ...(at !== undefined && { certainMs: micro(at - began) }),
      startedMs: micro(started - began),
      durationMs: micro(ended - started),
      evidence: one.evidence,
      outcome: one.isTaken ? (one.error === undefined ? 'committed' : 'failed') : 'discarded',
      ...(one.state.cause && { cause: one.state.cause }),
    }
  }
  const taken = early.filter(({ isTaken }) => isTaken)
  const lateMs = stood !== undefined && requested.length > taken.length ? micro(over - stood) : 0
  const joined = taken.map(accountOf)
  const discarded = early.filter(({ isTaken }) => !isTaken).map(accountOf)
  const works = [...joined.map(({ durationMs }) => ({ ms: durationMs })), { ms: lateMs }]
  const actualMs = joined.reduce(
    (end, { startedMs = 0, durationMs }) => Math.max(end, micro(startedMs + durationMs)),
    micro(stoodMs + lateMs),
  )
  const parallelMs = micro(stoodMs + makespan(works, slots))
  return {
    step,
    ...(Number.isFinite(slots) && { slots }),
    streamMs: stoodMs,
    stoodMs,
    actualMs,
    sequentialMs: micro(stoodMs + makespan(works, 1)),
    parallelMs,
    savedMs: micro(parallelMs - actualMs),
    wastedMs: micro(discarded.reduce((sum, { durationMs }) => sum + durationMs, 0)),
    calls: [...joined, ...discarded],
  }
}

/** Adds to each tool's balance what it has saved and wasted. Calls wasted by an abort of the run do not count. */
export function charge(budget: Budget, { calls, savedMs, stoodMs }: StepSavings, isAborted: boolean): void {
  const hidden = ({ startedMs, durationMs }: CallSavings) =>
    startedMs === undefined ? 0 : Math.max(0, Math.min(startedMs + durationMs, stoodMs) - startedMs)
  const joined = calls.filter(({ evidence, outcome }) => evidence && outcome !== 'discarded')
  const total = joined.reduce((sum, call) => sum + hidden(call), 0)
  for (const call of joined) if (total > 0) budget.add(call.tool, (savedMs * hidden(call)) / total)
  if (isAborted) return
  for (const call of calls) if (call.outcome === 'discarded') budget.add(call.tool, -call.durationMs)
}
