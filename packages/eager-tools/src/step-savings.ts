/** Works out what starting early has brought in one step, from what was noted of its calls. */

import type { DiscardCause, ToolMessage, ToolStatus } from '@meanwhile/core'
import { makespan, type Place, type Work } from './makespan.ts'
import type { Evidence } from './policy.ts'
import type { CallSavings, StepSavings } from './savings.ts'

/** What is known of a step. Times: `performance.now()`. */
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
  /** The early ones whose fate is open, by the id they started under. */
  readonly open: Map<string, Made[]>
  /** By the id in the history. */
  readonly committed: Map<string, Made>
  /** Of the calls the loop asked for, in call order; not what they say, which may be long. */
  readonly results: Result[]
}

/** A call that was made. */
export interface Made {
  /** Under which it started. */
  readonly callId: string
  readonly tool: string
  /** Of an early one. */
  readonly evidence?: Evidence
  status: () => ToolStatus | undefined
  isCommitted: boolean
  cause?: DiscardCause
}

/** Of a call the loop asked for. */
type Result = Required<Pick<ToolMessage, 'callId' | 'name' | 'isError'>>

export function savingsOf(step: StepNotes): StepSavings {
  const after = (time: number) => micro(time - step.began)
  const streamMs = after(step.streamEnded ?? step.began)
  const stoodMs = after(step.stood ?? step.streamEnded ?? step.began)
  const asked = step.results.map((result) => callOf(step, step.committed.get(result.callId), result))
  const discarded = step.made.filter(isDiscarded).map((made) => callOf(step, made))
  const works = asked.map((call) => workOf(step, call))
  const isEarly = discarded.length > 0 || asked.some(({ evidence }) => evidence)
  const actualMs = asked.reduce(
    (end, { startedMs = 0, durationMs }) => Math.max(end, micro(startedMs + durationMs)),
    stoodMs,
  )
  const parallelMs = micro(stoodMs + makespan(works, step.slots))
  return {
    step: step.step,
    ...(Number.isFinite(step.slots) && { slots: step.slots }),
    streamMs,
    stoodMs,
    actualMs,
    sequentialMs: micro(stoodMs + makespan(works, 1)),
    parallelMs,
    savedMs: isEarly ? micro(parallelMs - actualMs) : 0,
    wastedMs: micro(discarded.reduce((sum, call) => sum + workedMs(call), 0)),
    calls: [...asked, ...discarded],
  }
}

export function isDiscarded({ isCommitted }: Made): boolean {
  return !isCommitted
}

/** A call the loop asked for, with its result, or one that was discarded. */
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

/** After the stream, with its whole input there. */
function workOf({ limits }: StepNotes, call: CallSavings): Work {
  return { ms: workedMs(call), at: limits.get(call.tool) }
}

/** What a call waited for the rest of its input is no work; what it did until it awaited that is. */
export function workedMs({ durationMs, waitedMs = 0 }: Pick<CallSavings, 'durationMs' | 'waitedMs'>): number {
  return durationMs - waitedMs
}

/** How long a call ran while its model streamed. */
export function hiddenMs({ began, streamEnded = 0 }: StepNotes, made: Made): number {
  const { startedMs = 0, durationMs, waitedMs = 0 } = timesOf(made, began)
  return Math.max(0, Math.min(startedMs + durationMs, streamEnded - began) - startedMs - waitedMs)
}

/** From the step's beginning. A call that goes on counts until now. */
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

/** To microseconds: what epoch times cannot tell apart is no difference. */
export function micro(ms: number): number {
  return Math.round(ms * 1000) / 1000 + 0
}
