/** Draws one scenario on one wire: the modes below one another, on one time axis. */

import { axisX, gridX, type Markish, text } from '@observablehq/plot'
import { isPaced } from '../comparison.ts'
import { milliseconds } from '../format.ts'
import { chartOf, type Drawing, PIXELS } from './chart.ts'
import type { Html } from './html.ts'
import { headingOf, type Lane, savedUntil, sentenceOf } from './lane.ts'
import { boundMark, marksOf } from './marks.ts'
import { heightOf, partsOf } from './parts.ts'

/** `id` is unique on the page; `span` is the time that the whole width represents, in milliseconds. */
export function timelineOf(id: string, lanes: readonly Lane[], span: number, title: string): Html {
  const description = lanes.map(sentenceOf).join(' ')
  return chartOf({ id, title, description, draw: (width) => drawing(lanes, span, width) })
}

const HEADING = 22
const LANE_GAP = 22
const AXIS = 24

interface Placed extends Lane {
  readonly top: number
  readonly savedUntil: number | undefined
}

function drawing(lanes: readonly Lane[], span: number, width: number): Drawing {
  const placed = stacked(lanes)
  const height = lanes.reduce((sum, { timeline }) => sum + HEADING + heightOf(timeline) + LANE_GAP, AXIS - LANE_GAP)
  // To half a pixel.
  const tickMs = span / width / 2
  return {
    height,
    margin: 0,
    marginBottom: AXIS - 6,
    x: { domain: [0, span] },
    y: { ...PIXELS, axis: null },
    marks: [
      axis(span, width),
      placed.flatMap(({ timeline, top, savedUntil }) =>
        marksOf(partsOf(timeline, { top: top + HEADING, tickMs, savedUntil })),
      ),
      bound(lanes, height - AXIS + 6),
      headings(placed),
    ],
  }
}

function stacked(lanes: readonly Lane[]): readonly Placed[] {
  let top = 0
  return lanes.map((lane) => {
    const placed = { ...lane, top, savedUntil: savedUntil(lane, lanes) }
    top += HEADING + heightOf(lane.timeline) + LANE_GAP
    return placed
  })
}

function axis(span: number, width: number): Markish[] {
  const ticks = width / 90
  const tickFormat = (time: number): string => {
    if (time === 0) return '0'
    return span < 1_000 ? `${time} ms` : `${time / 1_000} s`
  }
  return [
    gridX({ ticks, stroke: 'var(--line)', strokeOpacity: 1 }),
    axisX({ ticks, tickFormat, tickSize: 0, label: null, fill: 'var(--muted)', fontSize: 12 }),
  ]
}

/** The bound of the last mode, which is the eager one if it exists: between paced runs it differs by microseconds. */
function bound(lanes: readonly Lane[], bottom: number): Markish {
  const lane = lanes.at(-1)
  const at = lane && isPaced(lane.entry) ? lane.timeline.bound : undefined
  return at === undefined ? null : boundMark(at, bottom)
}

/** Drawn last, so that no line crosses the words. */
function headings(placed: readonly Placed[]): Markish[] {
  const saving = placed.filter(({ savedUntil }) => savedUntil !== undefined)
  return [
    text(placed, { ...WORDS, x: 0, text: headingOf, fill: 'var(--ink)', textAnchor: 'start' }),
    text(saving, {
      ...WORDS,
      x: 'savedUntil',
      text: ({ entry }: Placed) => `${milliseconds(entry.savedMs)} ms saved`,
      fill: 'var(--saved)',
      textAnchor: 'end',
    }),
  ]
}

const WORDS = {
  y: 'top',
  dy: 10,
  fontSize: 13,
  fontWeight: 600,
  stroke: 'var(--paper)',
  strokeWidth: 4,
} as const
