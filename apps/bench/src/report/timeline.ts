/**
 * One scenario on one wire as a picture: the modes below one another, on one axis of time. Plain SVG in percent of the width, and not a
 * chart library's, so that one drawing fits a telephone, a wide screen and paper with text of one size, in the colours of the page.
 */

import { beside, isPaced } from '../comparison.ts'
import { milliseconds } from '../format.ts'
import { BASELINE, type Mode } from '../modes.ts'
import type { Entry } from '../results.ts'
import type { Timeline } from '../sample.ts'
import { type Html, html } from './html.ts'
import { MODE_HEADINGS } from './names.ts'
import { NOISE } from './noise.ts'

/** A mode's typical run. */
export interface Lane {
  readonly mode: Mode
  readonly entry: Entry
  readonly timeline: Timeline
}

/** `id` is unique on the page; `span` is what the whole width stands for, in milliseconds. */
export function timelineOf(id: string, lanes: readonly Lane[], span: number, title: string): Html {
  const boxes = stacked(lanes)
  const height = (boxes.at(-1)?.bottom ?? 0) + AXIS
  return html`<svg class="timeline" role="img" aria-labelledby="${id}-title ${id}-desc" width="100%" height="${height}">
<title id="${id}-title">${title}</title>
<desc id="${id}-desc">${description(lanes)}</desc>
${axis(span, height)}
${boxes.map((box) => laneOf(box, lanes, span))}
${boundLine(lanes, span, height)}
${boxes.map((box) => headingOf(box, lanes, span))}
</svg>`
}

const HEADING = 22
const STREAM = 16
const CALL = 8
const GAP = 3
const LANE_GAP = 22
const AXIS = 24

interface Box extends Lane {
  readonly top: number
  readonly bottom: number
}

function stacked(lanes: readonly Lane[]): readonly Box[] {
  let top = 0
  return lanes.map((lane) => {
    const box = { ...lane, top, bottom: top + HEADING + STREAM + lane.timeline.calls.length * (CALL + GAP) }
    top = box.bottom + LANE_GAP
    return box
  })
}

function laneOf(box: Box, lanes: readonly Lane[], span: number): Html {
  const { timeline, top, bottom } = box
  const y = top + HEADING
  const baseline = baselineOf(box, lanes)
  return html`<g>
${baseline && bar('saved', timeline.end, baseline.end, y, bottom - y, span)}
${timeline.streams.map(({ begin, end }) => bar('stream', begin, end, y, STREAM, span))}
${ticks(timeline, y, span)}
${timeline.calls.map(({ argsDone, entered, settled }, index) => {
  const row = y + STREAM + GAP + index * (CALL + GAP)
  const middle = row + CALL / 2
  return html`<line class="wait" x1="${at(argsDone, span)}" x2="${at(entered, span)}" y1="${middle}" y2="${middle}"/>
<circle class="ready" cx="${at(argsDone, span)}" cy="${middle}" r="2.5"/>
${bar('call', entered, settled, row, CALL, span)}`
})}
</g>`
}

/** Last of all, so that no line runs through the words. */
function headingOf(box: Box, lanes: readonly Lane[], span: number): Html {
  const { mode, entry, top } = box
  const y = top + 13
  const baseline = baselineOf(box, lanes)
  const saved =
    baseline &&
    html`<text class="saving" x="${at(baseline.end, span)}" y="${y}">${milliseconds(entry.savedMs)} ms saved</text>`
  return html`<text class="mode" y="${y}">${MODE_HEADINGS[mode]} <tspan class="figure">${milliseconds(entry.wallMs)} ms${besideText(entry)}</tspan></text>${saved}`
}

/** Whether the model said the same in all runs, at the same times: else nothing in two pictures can be compared. */
function isSame({ timing }: Entry): boolean {
  return timing === 'paced' || timing === 'recorded'
}

function besideText(entry: Entry): string {
  const text = beside(entry)
  return text === '' ? '' : ` · ${text}`
}

/** The parallel run beside which something was saved, if this is the eager one and it was. */
function baselineOf({ mode, entry, timeline }: Lane, lanes: readonly Lane[]): Timeline | undefined {
  const baseline = lanes.find((lane) => lane.mode === BASELINE)?.timeline
  const { savedMs, wallMs } = entry
  if (mode !== 'eager' || !isSame(entry) || !baseline || savedMs === null || wallMs === null) return undefined
  return savedMs >= NOISE * wallMs && baseline.end > timeline.end ? baseline : undefined
}

function bar(name: string, from: number, to: number, y: number, height: number, span: number): Html {
  return html`<rect class="${name}" x="${at(from, span)}" y="${y}" width="${at(Math.max(0, to - from), span)}" height="${height}" rx="2"/>`
}

/** A tick per write, in an SVG of its own whose unit is the millisecond. */
function ticks({ streams }: Timeline, y: number, span: number): Html {
  const times = new Set(streams.flatMap(({ tokens }) => tokens.map((time) => Number(time.toFixed(1)))))
  const path = [...times].map((time) => `M${time} .2v.6`).join('')
  return html`<svg y="${y}" width="100%" height="${STREAM}" viewBox="0 0 ${span} 1" preserveAspectRatio="none"><path class="tokens" d="${path}"/></svg>`
}

/** That of the last mode, which is the eager one if there is one: between paced runs it differs by microseconds. */
function boundLine(lanes: readonly Lane[], span: number, height: number): Html | undefined {
  const lane = lanes.at(-1)
  if (!lane || !isPaced(lane.entry)) return undefined
  const { bound } = lane.timeline
  if (bound === undefined) return undefined
  return html`<line class="bound" x1="${at(bound, span)}" x2="${at(bound, span)}" y1="0" y2="${height - AXIS + 6}"/>`
}

function axis(span: number, height: number): Html {
  const step = stepOf(span)
  const times = Array.from({ length: Math.floor(span / step) + 1 }, (_, index) => index * step)
  return html`<g class="axis">${times.map(
    (time) => html`<line x1="${at(time, span)}" x2="${at(time, span)}" y1="0" y2="${height - AXIS + 6}"/>
<text class="${place(time / span)}" x="${at(time, span)}" y="${height - 4}">${label(time, step)}</text>`,
  )}</g>`
}

/** The first and the last label stay inside the picture. */
function place(part: number): string {
  return part === 0 ? 'first' : part > 0.94 ? 'last' : 'time'
}

/** A round number of milliseconds that gives four to eight steps. */
function stepOf(span: number): number {
  const power = 10 ** Math.floor(Math.log10(span / 4))
  return ([5, 2, 1].find((factor) => factor * power <= span / 4) ?? 1) * power
}

function label(time: number, step: number): string {
  return step < 100 ? `${Number(time.toFixed(1))} ms` : `${(time / 1000).toFixed(1)} s`
}

function at(time: number, span: number): string {
  return `${((100 * time) / span).toFixed(3)}%`
}

function description(lanes: readonly Lane[]): string {
  return lanes
    .map(({ mode, entry, timeline: { streams, calls } }) => {
      const [first] = streams
      const early = calls.filter(({ entered }) => first && entered < first.end).length
      const saved =
        mode === 'eager' && isSame(entry) && entry.savedMs !== null ? `, ${milliseconds(entry.savedMs)} ms saved` : ''
      return `${MODE_HEADINGS[mode]}: ${milliseconds(entry.wallMs)} ms, ${early} of ${calls.length} tools started before the end of the stream${saved}.`
    })
    .join(' ')
}
