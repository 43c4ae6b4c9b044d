/** The picture that is the whole argument: one run twice, with tools that wait for the end of the response, and with tools that do not. */

import { html } from '../report/html.ts'
import { type Colours, coloursOf, type Scheme } from './colours.ts'
import { type Runs, seconds } from './figures.ts'
import { type Pen, penOf, tidy } from './pen.ts'
import { type Row, rowOf } from './row.ts'
import type { Size } from './size.ts'
import { WORDS } from './words.ts'

export interface Look {
  readonly scenario: 'f' | 'b'
  readonly size: Size
  readonly scheme: Scheme
  /** Whether it plays once, in real time. What it ends with is the still form. */
  readonly moving: boolean
}

/** An SVG document. */
export function heroOf({ parallel, eager }: Runs, { scenario, size, scheme, moving }: Look): string {
  const words = WORDS[scenario]
  const span = Math.max(parallel.end, eager.end)
  const pen = penOf(size, span, moving)
  const above = rowOf(pen, { run: parallel, words, top: 0 })
  const below = rowOf(pen, { run: eager, words, top: above.bottom + size.betweenRows, waited: parallel })
  const axisY = below.bottom + size.axis * 0.75
  const height = Math.ceil(axisY + size.axisText * 0.5)
  const rows = [above, below]
  return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${height}" width="${size.width}" height="${height}" role="img" aria-labelledby="title desc">
<title id="title">The same run: ${seconds(parallel)} s with tools after the stream, ${seconds(eager)} s with tools during the stream</title>
<desc id="desc">The same run twice. ${words.scene} With tools after the stream it takes ${seconds(parallel)} s. With tools during the stream it takes ${seconds(eager)} s: each tool starts as soon as the model has written its call.</desc>
<style>
${styles(size, coloursOf(scheme))}${moving ? motion(pen, span) : ''}
</style>
${wholeSeconds(span).map((time) => rows.map((row) => grid(pen, time, row)))}
${rows.map(({ svg }) => svg)}
${[0, ...wholeSeconds(span)].map((time) => tick(pen, time, axisY))}
${moving ? html`<line class="now" x1="${pen.x(0)}" x2="${pen.x(0)}" y1="${size.head}" y2="${tidy(below.bottom)}"/>` : undefined}
</svg>
`.text
}

function wholeSeconds(span: number): readonly number[] {
  return Array.from({ length: Math.floor(span / 1_000) }, (_, index) => (index + 1) * 1_000)
}

const grid = (pen: Pen, time: number, { top, bottom }: Row) =>
  html`<line class="grid" x1="${pen.x(time)}" x2="${pen.x(time)}" y1="${tidy(top)}" y2="${tidy(bottom)}"/>`

function tick(pen: Pen, time: number, y: number) {
  const x = pen.x(time)
  if (time === 0) return pen.label('axis', '0', { x, y })
  const isAtEdge = x + pen.size.axisText > pen.size.width
  return pen.label('axis', `${time / 1_000} s`, { x, y, anchor: isAtEdge ? 'end' : 'middle' })
}

const FONT = 'Inter,ui-sans-serif,system-ui,-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif'

function styles(size: Size, colour: Colours): string {
  const { title, figure, label } = size
  return `text{font-family:${FONT};font-variant-numeric:tabular-nums}
.title{font-size:${title}px;font-weight:600;fill:${colour.ink}}
.figure,.gain{font-size:${figure}px;font-weight:700;letter-spacing:-.02em;fill:${colour.ink}}
.figure.good,.gain,.sooner{fill:${colour.saved}}
.sooner{font-size:${size.width < 500 ? tidy(label * 0.9) : label}px;font-weight:600}
.canopy{fill:${colour.canopy}}.ribbon{fill:${colour.ribbon}}.tool{fill:${colour.tool}}.saved{fill:${colour['saved-tint']}}
.writes,.answers{font-size:${label}px;font-weight:500;fill:${colour['ribbon-text']}}.answers{font-size:${tidy(label * 0.86)}px}
.runs{font-size:${label}px;font-weight:600;fill:${colour['on-tool']}}
.aside{font-size:${label}px;fill:${colour.muted}}
.waits{font-size:${label}px;font-weight:500;fill:${colour.wait};paint-order:stroke;stroke:${colour.canopy};stroke-width:${tidy(label * 0.9)}px;stroke-linejoin:round}
.wait{stroke:${colour.wait};stroke-width:${size.width < 500 ? 1.5 : 2};stroke-dasharray:${size.dots};stroke-linecap:round}.dot{fill:${colour.wait}}
.end{stroke:${colour.ink};stroke-width:${size.line}}.end.good{stroke:${colour.saved}}
.grid{stroke:${colour.line};stroke-width:1}
.axis{font-size:${size.axisText}px;fill:${colour.muted}}.now{stroke:${colour.muted};stroke-width:1;opacity:0}`
}

/** Without it every mark is where it ends: for those who want no motion, in print, and where styles are taken away. */
function motion(pen: Pen, span: number): string {
  const way = tidy(pen.x(span) - pen.x(0))
  return `
.ribbon,.tool{transform-box:fill-box;transform-origin:0 50%}
@keyframes grow{from{transform:scaleX(0)}}
@keyframes appear{from{opacity:0}}
@keyframes pass{from{opacity:.8}99%{opacity:.8;transform:translateX(${way}px)}to{opacity:0;transform:translateX(${way}px)}}
.now{animation:pass ${tidy(span / 1_000)}s linear}
@media (prefers-reduced-motion:reduce){*{animation:none!important}}`
}
