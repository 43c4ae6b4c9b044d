/** What is recorded of the calls of one step of a run. */

import type { DiscardCause, ToolMessage, ToolStatus } from '@meanwhile/core'
import type { Place } from './makespan.ts'
import type { Evidence } from './policy.ts'
import type { CallSavings, StepSavings } from './savings.ts'
import { micro, savingsOf } from './step-savings.ts'

/** The measurements of one step. Times are in `performance.now()`. */
export interface StepNotes {
  readonly step: number
  readonly slots: number
  readonly began: number
  readonly limits: ReadonlyMap<string, Place>
  streamEnded: number | undefined
  stood: number | undefined
  /** By call id. */
  readonly certain: Map<string, number>
  readonly made: Made[]
  /** Early calls that are neither committed nor discarded, by the id they started with. */
  readonly open: Map<string, Made[]>
  /** By the id in the history. */
  readonly committed: Map<string, Made>
  /** The results of the calls that the loop executed, in call order; without their content, which may be long. */
  readonly results: Result[]
}

/** A call that was made. */
export interface Made {
  /** The id it started with. */
  readonly callId: string
  readonly tool: string
  /** Only for early calls. */
  readonly evidence?: Evidence
  status: () => ToolStatus | undefined
  isCommitted: boolean
  cause?: DiscardCause
}

/** The result of a call that the loop executed. */
type Result = Required<Pick<ToolMessage, 'callId' | 'name' | 'isError'>>

export function stepSavings(notes: StepNotes): StepSavings {
  const { step, slots, began, streamEnded = began, stood = streamEnded, limits, made, committed, results } = notes
  return savingsOf({
    step,
    slots,
    streamMs: micro(streamEnded - began),
    stoodMs: micro(stood - began),
    executed: results.map((result) => callOf(notes, committed.get(result.callId), result)),
    discarded: made.filter(isDiscarded).map((one) => callOf(notes, one)),
    limits,
  })
}

export function isDiscarded({ isCommitted }: Made): boolean {
  return !isCommitted
}

/** A call that the loop executed, with its result, or a discarded call. */
function callOf(step: StepNotes, made: Made | undefined, result?: Result): CallSavings {
  const callId = result?.callId ?? made?.callId ?? ''
  const certain = step.certain.get(callId)
  return {
    callId,
    tool: made?.tool ?? result?.name ?? '',
    ...(certain !== undefined && { certainMs: micro(certain - step.began) }),
    ...timesOf(made, step.began),
    ...(made?.evidence && { evidence: made.evidence }),
    outcome: result === undefined ? 'discarded' : result.isError ? 'failed' : 'committed',
    ...(made?.cause && { cause: made.cause }),
  }
}

/** Returns the times relative to the start of the step. A running call counts until now. */
export function timesOf(
  made: Made | undefined,
  began: number,
): Pick<CallSavings, 'startedMs' | 'durationMs' | 'waitedMs'> {
  const { startedAt, endedAt, waitedMs } = made?.status() ?? {}
  if (startedAt === undefined) return { durationMs: 0 }
  const begin = performance.timeOrigin + began
  return {
    startedMs: micro(startedAt - begin),
    durationMs: micro((endedAt ?? performance.timeOrigin + performance.now()) - startedAt),
    ...(waitedMs !== undefined && { waitedMs: micro(waitedMs) }),
  }
}
