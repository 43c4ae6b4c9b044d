/** A panel per wire, a line per way: CPU time over the size of the arguments. */

import type { WireName } from '@meanwhile/harness/server'
import { axisX, axisY, dot, frame, gridY, line, type Markish, type SymbolType, text } from '@observablehq/plot'
import { milliseconds } from '../format.ts'
import type { Way } from '../modes.ts'
import { chartOf, type Drawing, sampleOf } from './chart.ts'
import type { Growth, GrowthPoint } from './growth-points.ts'
import { type Html, html } from './html.ts'
import { WIRE_TITLES, wayTitle } from './names.ts'

export function growthChart(growths: readonly Growth[]): Html {
  return html`${key(growths)}
${chartOf({
  id: 'growth-chart',
  title: 'CPU time by the size of the arguments',
  description: growths.map(sentence).join(' '),
  draw: (width) => (width < ABREAST_FROM ? stacked(growths) : abreast(growths)),
})}`
}

/** The least width at which the panels stand beside one another. */
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
  const sizes = [...new Set(growths.flatMap(({ points }) => points.map(({ kilobytes }) => kilobytes)))]
  return [
    gridY({ ticks: 4, stroke: 'var(--line)', strokeOpacity: 1 }),
    axisY({ ticks: 4, tickFormat: (time: number) => `${milliseconds(time)} ms`, ...AXIS }),
    axisX(sizes, { tickFormat: (kilobytes: number) => `${kilobytes} KB`, ...AXIS }),
    frame({ anchor: 'bottom', stroke: 'var(--muted)' }),
    growths.flatMap(({ wire, way, points }) => lineOf(way, points, { x: 'kilobytes', y: 'cpuMs', ...panel(wire) })),
    wiresOf(growths).map((wire) =>
      text([WIRE_TITLES[wire]], { ...panel(wire), frameAnchor: 'top-left', dy: -20, ...HEADING }),
    ),
  ]
}

function wiresOf(growths: readonly Growth[]): WireName[] {
  return [...new Set(growths.map(({ wire }) => wire))]
}

const AXIS = { tickSize: 0, label: null, fill: 'var(--muted)', fontSize: 12 } as const

const HEADING = { fill: 'var(--ink)', fontSize: 13, fontWeight: 600 } as const

/** Told apart by their symbols: those of ours have colours besides. */
function lineOf(way: Way, points: readonly GrowthPoint[], where: object): Markish[] {
  const { color, symbol, dashes } = LOOKS[way]
  return [
    line(points, { ...where, stroke: color, strokeWidth: 2, ...(dashes && { strokeDasharray: dashes }) }),
    dot(points, { ...where, stroke: color, fill: 'var(--paper)', strokeWidth: 2, symbol, r: 4 }),
  ]
}

interface Look {
  readonly color: string
  readonly symbol: SymbolType
  readonly dashes?: string
}

const LOOKS: Readonly<Record<Way, Look>> = {
  sequential: { color: 'var(--wait)', symbol: 'triangle' },
  parallel: { color: 'var(--token)', symbol: 'square' },
  eager: { color: 'var(--saved)', symbol: 'circle' },
  floor: { color: 'var(--ink)', symbol: 'diamond', dashes: '5 4' },
  ai: { color: 'var(--muted)', symbol: 'cross' },
  '@openai/agents': { color: 'var(--muted)', symbol: 'star' },
  langchain: { color: 'var(--muted)', symbol: 'wye' },
  '@mastra/core': { color: 'var(--muted)', symbol: 'hexagon' },
}

function key(growths: readonly Growth[]): Html {
  const ways = [...new Set(growths.map(({ way }) => way))]
  return html`<ul class="legend">${ways.map((way) => html`<li>${sampleOf(looks(way))} ${wayTitle(way)}</li>\n`)}</ul>`
}

function looks(way: Way): Markish[] {
  const { color, symbol, dashes } = LOOKS[way]
  const middle = 6
  return [
    line([0, 26], {
      x: (x: number) => x,
      y: () => middle,
      stroke: color,
      strokeWidth: 2,
      ...(dashes && { strokeDasharray: dashes }),
    }),
    dot([13], {
      x: (x: number) => x,
      y: () => middle,
      stroke: color,
      fill: 'var(--paper)',
      strokeWidth: 2,
      symbol,
      r: 4,
    }),
  ]
}

/** `OpenAI Chat, Eager: 57 ms at 50 KB, 82 ms at 100 KB.` */
function sentence({ wire, way, points }: Growth): string {
  const figures = points.map(({ kilobytes, cpuMs }) => `${milliseconds(cpuMs)} ms at ${kilobytes} KB`)
  return `${WIRE_TITLES[wire]}, ${wayTitle(way)}: ${figures.join(', ')}.`
}
