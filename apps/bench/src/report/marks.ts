/** The style of everything in the picture of a run. */

import { dot, line, link, type Markish, rect, ruleX } from '@observablehq/plot'
import type { Parts } from './parts.ts'

/** In drawing order: the background first. */
export function marksOf({ saved, streams, writes, waits, calls }: Partial<Parts>): Markish[] {
  return [
    rect(saved ?? [], { ...AREA, fill: 'url(#hatch)' }),
    rect(streams ?? [], { ...AREA, fill: 'var(--ribbon)' }),
    // One broken line instead of a thousand short ones makes the page a third as long.
    line(
      (writes ?? []).flatMap(({ at, top, bottom }) => [{ at, y: top }, { at, y: bottom }, { at: Number.NaN }]),
      { x: 'at', y: 'y', stroke: 'var(--stream)', strokeWidth: 1 },
    ),
    link(waits ?? [], { x1: 'from', x2: 'to', y: 'middle', ...WAITING }),
    dot(waits ?? [], { x: 'from', y: 'middle', r: 2.5, fill: 'var(--wait)' }),
    // A call that took no time must be visible, too.
    rect(calls ?? [], { ...AREA, insetRight: -1, fill: 'var(--tool)' }),
  ]
}

/** No run can be shorter. */
export function boundMark(at: number, bottom: number): Markish {
  return ruleX([at], { y1: 0, y2: bottom, stroke: 'var(--ink)', strokeWidth: 1.5, strokeDasharray: '4 3' })
}

const AREA = { x1: 'from', x2: 'to', y1: 'top', y2: 'bottom', rx: 2 } as const

const WAITING = { stroke: 'var(--wait)', strokeWidth: 1, strokeDasharray: '1 3', strokeLinecap: 'round' } as const
