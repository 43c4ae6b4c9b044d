/** The style of each way's line, in the growth chart and in its key. */

import { dot, line, type Markish, type SymbolType } from '@observablehq/plot'
import type { Contender } from '../modes.ts'
import { swatchOf } from './chart.ts'
import { type Html, html } from './html.ts'
import { wayTitle } from './names.ts'

interface Line<Point> {
  readonly points: readonly Point[]
  /** The points with a symbol. Default: all. */
  readonly marked?: readonly Point[]
  readonly x: keyof Point & string
  readonly y: keyof Point & string
  /** The panel it is in. */
  readonly fx?: () => string
  readonly fy?: () => string
}

export function lineOf<Point>(way: Contender, { points, marked = points, ...where }: Line<Point>): Markish[] {
  const { color, symbol, dashes } = LOOKS[way]
  const pen = { ...where, stroke: color, strokeWidth: 2 }
  return [
    line([...points], { ...pen, ...(dashes && { strokeDasharray: dashes }) }),
    dot([...marked], { ...pen, fill: 'var(--paper)', symbol, r: 4 }),
  ]
}

export function key(ways: readonly Contender[]): Html {
  return html`<ul class="legend">${ways.map((way) => html`<li>${swatchOf(lineOf(way, SWATCH))} ${wayTitle(way)}</li>\n`)}</ul>`
}

const SWATCH: Line<{ readonly x: number; readonly y: number }> = {
  points: [
    { x: 0, y: 6 },
    { x: 26, y: 6 },
  ],
  marked: [{ x: 13, y: 6 }],
  x: 'x',
  y: 'y',
}

interface Look {
  readonly color: string
  readonly symbol: SymbolType
  readonly dashes?: string
}

/** Distinguished by their symbols; our modes also have colours. */
const LOOKS: Readonly<Record<Contender, Look>> = {
  sequential: { color: 'var(--wait)', symbol: 'triangle' },
  parallel: { color: 'var(--stream)', symbol: 'square' },
  eager: { color: 'var(--tool)', symbol: 'circle' },
  floor: { color: 'var(--ink)', symbol: 'diamond', dashes: '5 4' },
  ai: { color: 'var(--muted)', symbol: 'cross' },
  '@openai/agents': { color: 'var(--muted)', symbol: 'star' },
  langchain: { color: 'var(--muted)', symbol: 'wye' },
  '@mastra/core': { color: 'var(--muted)', symbol: 'hexagon' },
  '@librechat/agents': { color: 'var(--muted)', symbol: 'asterisk' },
}
