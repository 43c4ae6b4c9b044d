/** Computes what starting early has saved in one step, from the times recorded for its calls. */

import type { DiscardCause, ToolMessage, ToolStatus } from '@meanwhile/core'
import { makespan, type Place, type Work } from './makespan.ts'
import type { Evidence } from './policy.ts'
import type { CallSavings, StepSavings } from './savings.ts'

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

export function savingsOf(step: StepNotes): StepSavings {
  const after = (time: number) => micro(time - step.began)
  const streamMs = after(step.streamEnded ?? step.began)
  const stoodMs = after(step.stood ?? step.streamEnded ?? step.began)
  const asked = step.results.map((result) => callOf(step, step.committed.get(result.callId), result))
  const discarded = step.made.filter(isDiscarded).map((made) => callOf(step, made))
  const held = heldMs(step, [...asked, ...discarded], stoodMs)
  const works = asked.map((call) => workOf(step, call, held.get(call)))
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

/** The work of a call that starts after the stream, with its whole input. */
function workOf({ limits }: StepNotes, call: CallSavings, after = 0): Work {
  return { ms: workedMs(call), at: limits.get(call.tool), after }
}

/**
 * How long after `stoodMs` calls were kept back by something else than the slots and the limit of their tool, mostly by a
 * person who had to allow them. It would have kept them back without early starts as well. What came before slots and
 * limit were last full may have been a wait for these, so it does not count.
 */
function heldMs(
  { slots, limits }: StepNotes,
  calls: readonly CallSavings[],
  stoodMs: number,
): Map<CallSavings, number> {
  const held = new Map<CallSavings, number>()
  const moments = calls.flatMap((call) => {
    const { startedMs, durationMs } = call
    if (startedMs === undefined) return []
    return [
      { at: startedMs, call },
      { at: micro(startedMs + durationMs), call, isEnd: true },
    ]
  })
  // What ends makes room for what starts at the same time; it was full until then.
  moments.sort((a, b) => a.at - b.at || Number(b.isEnd ?? false) - Number(a.isEnd ?? false))
  const all = { limit: slots }
  const places = new Map<Place, { running: number; fullUntil: number }>()
  for (const { at, call, isEnd } of moments) {
    let since = stoodMs
    for (const place of [all, limits.get(call.tool)]) {
      if (!place) continue
      const use = places.get(place) ?? { running: 0, fullUntil: 0 }
      places.set(place, use)
      if (use.running >= place.limit) use.fullUntil = at
      use.running += isEnd ? -1 : 1
      since = Math.max(since, use.fullUntil)
    }
    if (!isEnd && at > since) held.set(call, micro(at - since))
  }
  return held
}

/** Returns the time that a call worked: its duration without waits for the rest of its input. */
export function workedMs({ durationMs, waitedMs = 0 }: Pick<CallSavings, 'durationMs' | 'waitedMs'>): number {
  return durationMs - waitedMs
}

/** How long a call ran while its model streamed. */
export function hiddenMs({ began, streamEnded = 0 }: StepNotes, made: Made): number {
  const { startedMs = 0, durationMs, waitedMs = 0 } = timesOf(made, began)
  return Math.max(0, Math.min(startedMs + durationMs, streamEnded - began) - startedMs - waitedMs)
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

/** Rounds to microseconds, the precision of epoch times. */
export function micro(ms: number): number {
  return Math.round(ms * 1000) / 1000 + 0
}
