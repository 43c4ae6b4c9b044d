/** The rows of the timeline, from top to bottom: pixels down, times across. */

import type { Call, Response, Run, Step } from '../model/run.ts'
import type { Span } from './axis.ts'
import { lanesOf } from './pack.ts'
import { timesOf } from './times.ts'
import { layoutOf, type PlacedStep, type View } from './views.ts'

interface RowPlace {
  /** Distinct in the drawing. */
  readonly key: string
  readonly y: number
  readonly height: number
  /** How many agents it is inside. */
  readonly depth: number
  readonly run: Run
  readonly step: Step
}

/** The responses of a step. */
export interface ResponseRow extends RowPlace {
  readonly kind: 'responses'
  /** How much later than it was, in milliseconds. */
  readonly shift: number
}

export interface CallRow extends RowPlace {
  readonly kind: 'call'
  readonly call: Call
  readonly shift: number
  /** How much later than it was the call is: other than its step in a view that moves calls. */
  readonly moved: number
}

/** Many calls as thin bars. */
export interface PackedRow extends RowPlace {
  readonly kind: 'packed'
  readonly bars: readonly PackedBar[]
}

/** A whole step in one row. */
export interface StepRow extends RowPlace {
  readonly kind: 'step'
  readonly shift: number
  readonly bars: readonly PackedBar[]
}

export interface PackedBar extends Span {
  readonly call: Call
  readonly lane: number
}

export type Row = ResponseRow | CallRow | PackedRow | StepRow

/** The column under a response. */
export interface Canopy extends Span {
  readonly key: string
  readonly y: number
  readonly height: number
  readonly depth: number
  readonly failed: boolean
}

/** The frame round the agents of a call. */
export interface Frame extends Span {
  readonly key: string
  readonly y: number
  readonly height: number
}

export interface Drawing {
  readonly rows: readonly Row[]
  readonly canopies: readonly Canopy[]
  readonly frames: readonly Frame[]
  readonly height: number
}

export interface DrawingOptions {
  readonly view: View
  readonly now: number
  /** The keys of calls whose agents are hidden. */
  readonly folded?: ReadonlySet<string>
  /** The keys of steps that are drawn with all rows although they have many calls. */
  readonly opened?: ReadonlySet<string>
  /** On a narrow page labels are above the bars. */
  readonly narrow?: boolean
  /** Only steps in this time. */
  readonly window?: Span
}

export const RIBBON_ROW = 24
export const PACKED_LANE = 5
const STEP_GAP = 16
const STEP_ROW = 30
const MOST_CALLS = 14
const MOST_STEPS = 14
const SMALL = { steps: 6, calls: 14 }

export function drawingOf(run: Run, options: DrawingOptions): Drawing {
  const { folded = new Set<string>(), opened = new Set<string>(), narrow = false, window, view, now } = options
  const isSmall = !window && run.steps.length <= SMALL.steps && run.calls <= SMALL.calls
  const callHeight = narrow ? 32 : isSmall ? 25 : 20
  const rows: Row[] = []
  const canopies: Canopy[] = []
  const frames: Frame[] = []
  let y = 6

  /** An agent inside keeps its own times in every view: what it saves is its own. */
  function addRun(one: Run, depth: number, moved: number): void {
    const layout = layoutOf(one, depth === 0 ? view : 'was', now)
    const shown = depth === 0 && window ? layout.steps.filter((step) => isInside(step, window)) : layout.steps
    const asRows = depth === 0 && shown.length > MOST_STEPS
    for (const placed of shown) addStep(one, placed, depth, moved, asRows)
    for (const inner of one.inner) addRun(inner, depth + 1, moved)
  }

  function addStep(one: Run, placed: PlacedStep, depth: number, moved: number, asRow: boolean): void {
    const { step, times, starts } = placed
    const key = stepKey(one, step)
    const at = { depth, run: one, step }
    const shift = placed.shift + moved
    const top = y
    const isOpened = opened.has(key)
    if (asRow && !isOpened) {
      rows.push({ ...at, kind: 'step', key, y, height: STEP_ROW, shift, bars: barsOf(placed, moved, now) })
      y += STEP_ROW + 2
      const [from, to] = [times.start + shift, times.stood + shift]
      canopies.push({ key, y: top, height: STEP_ROW - 4, depth, from, to, failed: false })
      return
    }
    rows.push({ ...at, kind: 'responses', key, y, height: RIBBON_ROW, shift })
    y += RIBBON_ROW + 3
    if (step.calls.length > MOST_CALLS && !isOpened) {
      const bars = barsOf(placed, moved, now)
      const lanes = bars.reduce((most, { lane }) => Math.max(most, lane + 1), 1)
      rows.push({ ...at, kind: 'packed', key: `${key} calls`, y, height: lanes * PACKED_LANE, bars })
      y += lanes * PACKED_LANE + 14
    } else {
      for (const [index, call] of step.calls.entries()) {
        const start = starts[index] ?? call.start
        const own = start - call.start + moved
        rows.push({ ...at, kind: 'call', key: `${key} ${call.key}`, y, height: callHeight, call, shift, moved: own })
        y += callHeight
        if (call.inner.length > 0 && !folded.has(call.key)) addInner(call, depth, own)
      }
    }
    for (const response of step.responses) canopies.push(canopyOf(response, shift, { key, top, y, depth }, now))
    y += STEP_GAP
  }

  function addInner(call: Call, depth: number, moved: number): void {
    const top = y
    for (const inner of call.inner) {
      y += 4
      addRun(inner, depth + 1, moved)
      y -= STEP_GAP - 8
    }
    const [from, to] = [call.start + moved, (call.end ?? now) + moved]
    frames.push({ key: call.key, y: top - 4, height: y - top + 2, from, to })
  }

  addRun(run, 0, 0)
  return { rows, canopies, frames, height: y }
}

export const stepKey = ({ key }: Run, { index }: Step): string => `${key} ${index}`

function isInside({ step, times, shift, end }: PlacedStep, { from, to }: Span): boolean {
  return step.responses.length + step.calls.length > 0 && times.start + shift < to && end > from
}

function canopyOf(
  { spanId, start, end, state }: Response,
  shift: number,
  { key, top, y, depth }: { readonly key: string; readonly top: number; readonly y: number; readonly depth: number },
  now: number,
): Canopy {
  const times = { from: start + shift, to: (end ?? now) + shift }
  return { key: `${key} ${spanId}`, y: top, height: y - top + 2, depth, failed: state === 'failed', ...times }
}

function barsOf({ step, starts }: PlacedStep, moved: number, now: number): PackedBar[] {
  const bars = step.calls.map((call, index) => {
    const from = (starts[index] ?? call.start) + moved
    return { call, from, to: from + (call.end ?? now) - call.start }
  })
  const lanes = lanesOf(bars)
  return bars.map((bar, index) => ({ ...bar, lane: lanes[index] ?? 0 }))
}

const FIRST_ROWS = 22
const LAST_STEPS = 8

/**
 * The first window of a run with many steps: as many steps as give 22 rows, of a running one the last 8 steps. `undefined` if the whole
 * run fits.
 */
export function firstWindow({ steps, state }: Run, now: number): Span | undefined {
  if (steps.length <= MOST_STEPS) return undefined
  const shown = state === 'running' ? steps.slice(-LAST_STEPS) : steps
  const [first] = shown
  if (!first) return undefined
  let { start: from, end: to } = timesOf(first, now)
  let rows = 0
  for (const step of shown) {
    rows += 1.6 + (step.calls.length > MOST_CALLS ? 2 : step.calls.length)
    if (rows > FIRST_ROWS) break
    const times = timesOf(step, now)
    from = Math.min(from, times.start)
    to = Math.max(to, times.end)
  }
  return { from, to }
}
