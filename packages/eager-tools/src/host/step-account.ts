/** Computes what starting early has saved in one step of another library's loop. */

import type { ToolCall } from '@meanwhile/core'
import type { Budget } from '../budget.ts'
import type { CallSavings, StepSavings } from '../savings.ts'
import { credit, micro, savingsOf } from '../step-savings.ts'
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
  const discarded = early.filter(({ isTaken }) => !isTaken)
  return savingsOf({
    step,
    slots,
    streamMs: stoodMs,
    stoodMs,
    executed: taken.map(accountOf),
    discarded: discarded.map(accountOf),
    unknownMs: stood !== undefined && requested.length > taken.length ? micro(over - stood) : 0,
  })
}

/** Adds to each tool's balance what it has saved and wasted. Calls wasted by an abort of the run do not count. */
export function charge(budget: Budget, savings: StepSavings, isAborted: boolean): void {
  credit(budget, savings)
  if (isAborted) return
  for (const call of savings.calls) if (call.outcome === 'discarded') budget.add(call.tool, -call.durationMs)
}
