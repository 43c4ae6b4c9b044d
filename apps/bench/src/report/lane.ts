/** A mode's typical run, as one row of a picture. */

import type { Entry } from '../cell.ts'
import { beside } from '../comparison.ts'
import { milliseconds } from '../format.ts'
import { BASELINE, type Mode } from '../modes.ts'
import type { Timeline } from '../sample.ts'
import { MODE_HEADINGS } from './names.ts'
import { NOISE } from './noise.ts'

export interface Lane {
  readonly mode: Mode
  readonly entry: Entry
  readonly timeline: Timeline
}

/** `Eager: 1,915 ms · 1.003×` */
export function headingOf({ mode, entry }: Lane): string {
  const besides = beside(entry)
  return `${MODE_HEADINGS[mode]}: ${milliseconds(entry.wallMs)} ms${besides === '' ? '' : ` · ${besides}`}`
}

/** The end of the parallel run, if this is the eager run and it saved time. */
export function savedUntil({ mode, entry, timeline }: Lane, lanes: readonly Lane[]): number | undefined {
  const baseline = lanes.find((lane) => lane.mode === BASELINE)?.timeline
  const { savedMs, wallMs } = entry
  if (mode !== 'eager' || !isSame(entry) || !baseline || savedMs === null || wallMs === null) return undefined
  return savedMs >= NOISE * wallMs && baseline.end > timeline.end ? baseline.end : undefined
}

/** `Eager: 1,915 ms, 5 of 6 tools started before the end of the stream, 950 ms saved.` */
export function sentenceOf({ mode, entry, timeline: { streams, calls } }: Lane): string {
  const [first] = streams
  const early = calls.filter(({ entered }) => first && entered < first.end).length
  const saved =
    mode === 'eager' && isSame(entry) && entry.savedMs !== null ? `, ${milliseconds(entry.savedMs)} ms saved` : ''
  return `${MODE_HEADINGS[mode]}: ${milliseconds(entry.wallMs)} ms, ${early} of ${calls.length} tools started before the end of the stream${saved}.`
}

/** Whether the model sent the same in all runs, at the same times: otherwise two pictures cannot be compared. */
function isSame({ timing }: Entry): boolean {
  return timing === 'paced' || timing === 'recorded'
}
