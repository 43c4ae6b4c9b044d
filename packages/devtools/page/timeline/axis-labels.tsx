/** The labels of the time axis. */

import { type Axis, FOLD_WIDTH, type Tick } from '../../src/geometry/axis.ts'
import { duration } from '../../src/geometry/words.ts'

export interface AxisLabelsProps {
  readonly axis: Axis
  readonly ticks: readonly Tick[]
  readonly gutter: number
  readonly saved: { readonly x: number; readonly words: string } | undefined
}

const TAG = 96

export function AxisLabels({ axis, ticks, gutter, saved }: AxisLabelsProps) {
  return (
    <svg class="axis" width={gutter + axis.width + 20} height="26" aria-hidden="true">
      {ticks.map(({ x, label }) => (
        <text key={label} x={gutter + x} y="16" text-anchor={x < 8 ? 'start' : x > axis.width - 8 ? 'end' : 'middle'}>
          {label}
        </text>
      ))}
      {axis.folds.map(({ x, from, to }) => (
        <text key={from} class="pause" x={gutter + x + FOLD_WIDTH / 2} y="16" text-anchor="middle">
          {duration(to - from)}
        </text>
      ))}
      {saved && (
        <>
          <rect class="saved-tag" x={gutter + saved.x - TAG} y="2" width={TAG} height="20" rx="4" />
          <text class="saved-words" x={gutter + saved.x - 6} y="16" text-anchor="end">
            {saved.words}
          </text>
        </>
      )}
    </svg>
  )
}
