/** The time axis: linear, but long pauses in which nothing runs are folded. */

import type { Run } from '../model/run.ts'
import type { Layout } from './views.ts'
import { tick } from './words.ts'

/** A part of time, in milliseconds since the epoch. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** A pause that is drawn with a fixed width. */
export interface Fold extends Span {
  readonly x: number
}

export interface Axis {
  readonly width: number
  readonly folds: readonly Fold[]
  /** Pixels per millisecond outside of the folds. */
  readonly scale: number
  /** Where a time is, in pixels. Never smaller for a later time. */
  x(time: number): number
  /** The time at a place. */
  time(x: number): number
}

export const FOLD_WIDTH = 34

const LEAST_PAUSE_MS = 5_000
const LEAST_PART = 0.1

/** The pauses of a run that are longer than 5 s and than a tenth of the time in which something runs. */
export function pausesOf(run: Run, { steps }: Layout, now: number): Span[] {
  const busy: Span[] = steps.flatMap(({ step, shift, starts }) => [
    ...step.responses.map(({ start, end = now }) => ({ from: start + shift, to: end + shift })),
    ...step.calls.map(({ start, end = now }, index) => {
      const from = starts[index] ?? start
      return { from, to: from + end - start }
    }),
  ])
  for (const inner of run.inner) busy.push({ from: inner.start, to: inner.end ?? now })
  busy.sort((a, b) => a.from - b.from)
  const pauses: Span[] = []
  let active = 0
  let until = busy[0]?.from ?? 0
  for (const { from, to } of busy) {
    if (from > until) pauses.push({ from: until, to: from })
    active += Math.max(0, to - Math.max(from, until))
    until = Math.max(until, to)
  }
  const least = Math.max(LEAST_PAUSE_MS, active * LEAST_PART)
  return pauses.filter(({ from, to }) => to - from > least)
}

/** Maps the times of a window to pixels. Pauses that are not completely inside it are not folded. */
export function axisOf({ from, to }: Span, width: number, pauses: readonly Span[]): Axis {
  const inside = pauses.filter((pause) => pause.from >= from && pause.to <= to)
  const folded = inside.reduce((sum, pause) => sum + pause.to - pause.from, 0)
  const free = Math.max(width / 4, width - inside.length * FOLD_WIDTH)
  const fold = inside.length > 0 ? (width - free) / inside.length : 0
  const scale = free / Math.max(0.001, to - from - folded)
  let x = 0
  let at = from
  const folds = inside.map((pause) => {
    x += (pause.from - at) * scale
    const one = { ...pause, x }
    x += fold
    at = pause.to
    return one
  })
  /** The last fold that begins before a place or a time. */
  const before = (is: (one: Fold) => boolean): Fold | undefined => {
    let low = 0
    let high = folds.length
    while (low < high) {
      const middle = (low + high) >> 1
      const one = folds[middle]
      if (one && is(one)) low = middle + 1
      else high = middle
    }
    return folds[low - 1]
  }
  return {
    width,
    folds,
    scale,
    x(time) {
      const last = before((one) => one.from < time)
      if (!last) return (time - from) * scale
      if (time >= last.to) return last.x + fold + (time - last.to) * scale
      return last.x + ((time - last.from) / (last.to - last.from)) * fold
    },
    time(place) {
      const last = before((one) => one.x < place)
      if (!last) return from + place / scale
      if (place >= last.x + fold) return last.to + (place - last.x - fold) / scale
      return last.from + ((place - last.x) / fold) * (last.to - last.from)
    },
  }
}

export interface Tick {
  readonly x: number
  readonly label: string
}

const MILLISECONDS = [1, 2, 5, 10, 20, 50, 100, 200, 500]
const SECONDS = [1, 2, 5, 10, 15, 30]
const MINUTES = [1, 2, 5, 10, 30, 60, 120, 300, 720, 1_440]
const DISTANCES = [...MILLISECONDS, ...SECONDS.map((s) => s * 1_000), ...MINUTES.map((min) => min * 60_000)]
const LEAST_DISTANCE = 84
const MOST_TICKS = 100

/** Round times after `start`, at least 84 px apart, and none in a fold. */
export function ticksOf(axis: Axis, start: number): Tick[] {
  const distance = DISTANCES.find((ms) => ms * axis.scale >= LEAST_DISTANCE) ?? 86_400_000
  const ticks: Tick[] = []
  for (let time = firstTick(axis.time(0)); ticks.length < MOST_TICKS; time += distance) {
    const fold = axis.folds.find(({ from, to }) => time > from && time < to)
    if (fold) time = firstTick(fold.to)
    const x = axis.x(time)
    if (x > axis.width + 1) break
    if (axis.folds.some((one) => x > one.x - 20 && x < one.x + FOLD_WIDTH + 6)) continue
    ticks.push({ x, label: tick(time - start, distance) })
  }
  return ticks

  function firstTick(from: number): number {
    return start + Math.max(0, Math.ceil((from - start) / distance)) * distance
  }
}
