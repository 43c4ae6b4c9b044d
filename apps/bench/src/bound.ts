/** The physical lower bound of a run, from what the server really sent. */

import type { ResponseLog } from '@meanwhile/harness/server'

/** When the last argument byte of a call was written, and how long its tool takes. */
export interface Due {
  readonly argsDone: number
  readonly toolMs: number
}

/** One response as it went out: when its request arrived, and when its last byte was written. */
export interface Stream {
  readonly arrived: number
  readonly end: number
}

/**
 * No run can be shorter: the model has to finish, every tool has to work from its last argument byte on, and the answer has to be
 * sent. Without an answer (`second`), the first response alone.
 */
export function boundOf(first: Stream, calls: readonly Due[], second?: Stream): number {
  const done = Math.max(first.end, ...calls.map(({ argsDone, toolMs }) => argsDone + toolMs))
  return done - first.arrived + (second ? second.end - second.arrived : 0)
}

/** The most that starting early can save against parallel tools after the stream; S + D - T in the words of the theory. */
export function possibleSaving(first: Stream, calls: readonly Due[]): number {
  const parallel = first.end + Math.max(0, ...calls.map(({ toolMs }) => toolMs))
  return parallel - Math.max(first.end, ...calls.map(({ argsDone, toolMs }) => argsDone + toolMs))
}

/** A response that went out to its end. Throws if it did not. */
export function streamOf({ arrived, end, request }: ResponseLog): Stream {
  if (end === undefined) throw new TypeError(`response ${request} was not sent to its end`)
  return { arrived, end }
}
