/** The lower bound of a run, computed from what the server really sent. */

import type { ResponseLog } from '@meanwhile/harness/server'

/** When the last argument byte of a call was written, how long its tool takes, and whether it may start before its response has ended. */
export interface Due {
  readonly argsDone: number
  readonly toolMs: number
  readonly mayStartEarly: boolean
}

/** One response as it was sent: when its request arrived, and when its last byte was written. */
export interface Stream {
  readonly arrived: number
  readonly end: number
}

/** One response and its calls. */
export interface Turn {
  readonly stream: Stream
  readonly calls: readonly Due[]
}

/** No run can be shorter: the model must finish each response, and every tool must run for its time from when it may start. */
export function boundOf(turns: readonly Turn[]): number {
  return turns.reduce((sum, turn) => sum + doneOf(turn) - turn.stream.arrived, 0)
}

/** The most that starting early can save against parallel tools after the stream; S + D - T in the theory. */
export function possibleSaving(turns: readonly Turn[]): number {
  return turns.reduce((sum, turn) => {
    const parallel = turn.stream.end + Math.max(0, ...turn.calls.map(({ toolMs }) => toolMs))
    return sum + parallel - doneOf(turn)
  }, 0)
}

/** The earliest time at which stream and tools can be finished. */
function doneOf({ stream, calls }: Turn): number {
  return Math.max(
    stream.end,
    ...calls.map(({ argsDone, toolMs, mayStartEarly }) => (mayStartEarly ? argsDone : stream.end) + toolMs),
  )
}

/** A response that was sent completely. Throws if it was not. */
export function streamOf({ arrived, end, request }: ResponseLog): Stream {
  if (end === undefined) throw new TypeError(`response ${request} was not sent completely`)
  return { arrived, end }
}
