/** The position of everything in the picture of a run: milliseconds across, pixels down. */

import type { Timeline } from '../sample.ts'

export interface Parts {
  readonly saved: readonly Bar[]
  readonly streams: readonly Bar[]
  readonly writes: readonly Tick[]
  /** From complete arguments to the start of their tool. */
  readonly waits: readonly Wait[]
  readonly calls: readonly Bar[]
}

interface Bar {
  readonly from: number
  readonly to: number
  readonly top: number
  readonly bottom: number
}

interface Tick {
  readonly at: number
  readonly top: number
  readonly bottom: number
}

interface Wait {
  readonly from: number
  readonly to: number
  readonly middle: number
}

const STREAM = 16
const CALL = 8
const GAP = 3

/** The height of a run in pixels. */
export function heightOf({ calls }: Timeline): number {
  return STREAM + calls.length * (CALL + GAP)
}

export interface Place {
  readonly top: number
  /** Writes within this many milliseconds are one tick, because they would be indistinguishable. */
  readonly tickMs: number
  /** When a run without savings would have ended. */
  readonly savedUntil?: number | undefined
}

export function partsOf(run: Timeline, { top, tickMs, savedUntil }: Place): Parts {
  const stream = { top, bottom: top + STREAM }
  const rows = run.calls.map((call, index) => ({ ...call, top: stream.bottom + GAP + index * (CALL + GAP) }))
  return {
    saved: savedUntil === undefined ? [] : [{ from: run.end, to: savedUntil, top, bottom: top + heightOf(run) }],
    streams: run.streams.map(({ begin, end }) => ({ from: begin, to: end, ...stream })),
    writes: ticksOf(run, tickMs).map((at) => ({ at, top: top + 3, bottom: stream.bottom - 3 })),
    waits: rows.map(({ argsDone, entered, top }) => ({ from: argsDone, to: entered, middle: top + CALL / 2 })),
    calls: rows.map(({ entered, settled, top }) => ({ from: entered, to: settled, top, bottom: top + CALL })),
  }
}

function ticksOf({ streams }: Timeline, tickMs: number): readonly number[] {
  const ticks = streams.flatMap(({ tokens }) => tokens.map((time) => Math.round(time / tickMs)))
  return [...new Set(ticks)].map((tick) => tick * tickMs)
}
