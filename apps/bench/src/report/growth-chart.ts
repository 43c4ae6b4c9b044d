/** A panel per wire, a line per way: CPU time over the size of the arguments. */

import type { WireName } from '@meanwhile/harness/server'
import { axisX, axisY, frame, gridY, type Markish, text } from '@observablehq/plot'
import { milliseconds } from '../format.ts'
import { chartOf, type Drawing } from './chart.ts'
import { key, lineOf } from './growth-lines.ts'
import { type Growth, sizesOf, wiresOf } from './growth-points.ts'
import { type Html, html } from './html.ts'
import { WIRE_TITLES, wayTitle } from './names.ts'

export function growthChart(growths: readonly Growth[]): Html {
  return html`${key([...new Set(growths.map(({ way }) => way))])}
${chartOf({
  id: 'growth-chart',
  title: 'CPU time by the size of the arguments',
  description: growths.map(sentence).join(' '),
  draw: (width) => (width < ABREAST_FROM ? stacked(growths) : abreast(growths)),
})}`
}

/** The smallest width at which the panels are next to one another. */
const ABREAST_FROM = 600
const PANEL = 190
const MARGIN_TOP = 24
const MARGIN_BOTTOM = 28

function abreast(growths: readonly Growth[]): Drawing {
  const marks = marksOf(growths, (wire) => ({ fx: () => wire }))
  const fx = { axis: null, padding: 0.1, domain: wiresOf(growths) }
  return { ...COMMON, height: MARGIN_TOP + PANEL + MARGIN_BOTTOM, fx, marks }
}

function stacked(growths: readonly Growth[]): Drawing {
  const marks = marksOf(growths, (wire) => ({ fy: () => wire }))
  const fy = { axis: null, padding: 0.18, domain: wiresOf(growths) }
  return { ...COMMON, height: MARGIN_TOP + fy.domain.length * PANEL + MARGIN_BOTTOM, fy, marks }
}

const COMMON = {
  marginTop: MARGIN_TOP,
  marginBottom: MARGIN_BOTTOM,
  marginLeft: 52,
  marginRight: 24,
  x: { zero: true },
  y: { zero: true, nice: true },
} as const

type Panel = (wire: WireName) => { readonly [facet in 'fx' | 'fy']?: () => WireName }

function marksOf(growths: readonly Growth[], panel: Panel): Markish[] {
  return [
    gridY({ ticks: 4, stroke: 'var(--line)', strokeOpacity: 1 }),
    axisY({ ticks: 4, tickFormat: (time: number) => `${milliseconds(time)} ms`, ...AXIS }),
    axisX(sizesOf(growths), { tickFormat: (kilobytes: number) => `${kilobytes} KB`, ...AXIS }),
    frame({ anchor: 'bottom', stroke: 'var(--muted)' }),
    growths.flatMap(({ wire, way, points }) => lineOf(way, { points, x: 'kilobytes', y: 'cpuMs', ...panel(wire) })),
    wiresOf(growths).map((wire) =>
      text([WIRE_TITLES[wire]], { ...panel(wire), frameAnchor: 'top-left', dy: -20, ...HEADING }),
    ),
  ]
}

const AXIS = { tickSize: 0, label: null, fill: 'var(--muted)', fontSize: 12 } as const

const HEADING = { fill: 'var(--ink)', fontSize: 13, fontWeight: 600 } as const

/** `OpenAI Chat, Eager: 57 ms at 50 KB, 82 ms at 100 KB.` */
function sentence({ wire, way, points }: Growth): string {
  const figures = points.map(({ kilobytes, cpuMs }) => `${milliseconds(cpuMs)} ms at ${kilobytes} KB`)
  return `${WIRE_TITLES[wire]}, ${wayTitle(way)}: ${figures.join(', ')}.`
}
