/** The report's section on loops of other libraries with and without their drop-ins. */

import { barText } from '../bars.ts'
import type { Entry } from '../cell.ts'
import { comparisonsOf, type Label } from '../comparison.ts'
import { dropInBars } from '../drop-ins/bars.ts'
import type { LoopCpu } from '../drop-ins/cpu.ts'
import { titleOf } from '../drop-ins/loops.ts'
import type { DropIns } from '../drop-ins/measure-drop-ins.ts'
import { dropInNotes, problemsOf } from '../drop-ins/notes.ts'
import { type DropInRow, type LoopFigures, type OwnTime, rowsIn } from '../drop-ins/rows.ts'
import { firstToolText, slowMark } from '../drop-ins/table.ts'
import { milliseconds, NONE, percent, ratio } from '../format.ts'
import { type Html, html } from './html.ts'
import { WIRE_TITLES } from './names.ts'
import { scrollingTable } from './scrolling-table.ts'

export function dropInsSection(dropIns: DropIns, entries: readonly Entry[]): Html {
  const { ownTimes } = dropIns
  const scenarios = comparisonsOf(entries).map(({ scenario }) => scenario)
  return html`<section aria-labelledby="drop-ins">
<h2 id="drop-ins">Loops of other libraries, with drop-ins</h2>
${timeTable(dropIns, scenarios)}
${ownTimes.length > 0 ? costTable(dropIns) : undefined}
<ul>${dropInBars(dropIns).map((bar) => html`<li${bar.met ? '' : html` class="failed"`}>${barText(bar)}</li>\n`)}
${problemsOf(dropIns).map((problem) => html`<li class="failed">${problem}</li>\n`)}
${dropInNotes(dropIns).map((note) => html`<li>${note}</li>\n`)}</ul>
</section>`
}

const HEADS = ['Loop', 'Wire', 'As it is', 'Eager', 'Won back', 'First tool']

function timeTable({ rows, ownTimes }: DropIns, scenarios: readonly Label[]): Html {
  return scrollingTable(
    'drop-ins-table',
    'Medians with and without a drop-in, in milliseconds',
    html`<thead><tr>${HEADS.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
${scenarios.map((scenario) => group(scenario, rowsIn(rows, scenario.id), ownTimes))}`,
  )
}

function group({ id, title }: Label, rows: readonly DropInRow[], ownTimes: readonly OwnTime[]): Html | undefined {
  if (rows.length === 0) return undefined
  return html`<tbody>
<tr><th scope="rowgroup" colspan="${HEADS.length}"><span class="id">${id}</span> ${title}</th></tr>
${rows.map(
  (row) =>
    html`<tr>${nameCells(row, ownTimes)}${wallCell(row.plain)}${wallCell(row.eager)}<td class="gain">${row.wonBack === null ? NONE : percent(row.wonBack)}</td><td>${firstToolText(row)}</td></tr>\n`,
)}</tbody>`
}

function nameCells(row: Pick<DropInRow, 'loop' | 'wire'>, ownTimes: readonly OwnTime[]): Html {
  return html`<th scope="row">${titleOf(row.loop)}${slowMark(row, ownTimes)}</th><td>${WIRE_TITLES[row.wire]}</td>`
}

function wallCell(figures: LoopFigures | null): Html {
  if (!figures) return html`<td>${NONE}</td>`
  if (figures.wallMs === null) return html`<td class="failed">failed</td>`
  return html`<td>${milliseconds(figures.wallMs)} <small>${ratio(figures.ratioToBound)}×</small></td>`
}

function costTable({ ownTimes, cpu }: DropIns): Html {
  const heads = [
    'Loop',
    'Wire',
    '× bound',
    ...(cpu.length > 0 ? ['CPU as it is', 'CPU eager', 'Itself', 'Eager ×', 'Limit'] : []),
  ]
  return scrollingTable(
    'drop-in-costs-table',
    'What the loops themselves take',
    html`<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>
${ownTimes.map((own) => {
  const its = cpu.find(({ loop, wire }) => loop === own.loop && wire === own.wire)
  return html`<tr>${nameCells(own, ownTimes)}<td>${ratio(own.ratioToBound)}</td>${cpu.length > 0 ? cpuCells(its) : undefined}</tr>\n`
})}</tbody>`,
  )
}

function cpuCells(cpu: LoopCpu | undefined): readonly Html[] {
  if (!cpu) return Array.from({ length: 5 }, () => html`<td>${NONE}</td>`)
  const { plainMs, eagerMs, self, ratio: part, limit, isMet } = cpu
  const texts = [milliseconds(plainMs), milliseconds(eagerMs), ratio(self.median), ratio(part.median)]
  return [
    ...texts.map((text) => html`<td>${text}</td>`),
    html`<td${isMet ? '' : html` class="failed"`}>≤ ${ratio(limit)}</td>`,
  ]
}
