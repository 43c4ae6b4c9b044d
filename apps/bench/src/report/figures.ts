/** The report's table of figures. */

import { barsOf, barText } from '../bars.ts'
import type { Entry } from '../cell.ts'
import {
  beside,
  type Comparison,
  type ComparisonRow,
  checkText,
  comparisonsOf,
  cpuOverFloor,
  earlyLag,
  isServedHere,
  modesOf,
  pacedEager,
} from '../comparison.ts'
import { milliseconds, NONE, precise, signed, spread } from '../format.ts'
import type { Mode } from '../modes.ts'
import { type Html, html } from './html.ts'
import { MODE_HEADINGS, WIRE_TITLES } from './names.ts'
import { MORE, scrollingTable } from './scrolling-table.ts'

export function figures(entries: readonly Entry[]): Html {
  const modes = modesOf(entries)
  const isEager = modes.includes('eager')
  const columns = [
    ...modes.filter((mode) => mode !== 'floor').map(wallColumn),
    ...(isEager ? EAGER_COLUMNS : []),
    ...(isEager && isServedHere(entries) ? SERVED_COLUMNS : []),
    ...(modes.includes('floor') ? [wallColumn('floor')] : []),
    ...(isEager && modes.includes('floor') ? [CPU_COLUMN] : []),
  ]
  return html`<section aria-labelledby="figures">
<h2 id="figures">The figures</h2>
${scrollingTable(
  'figures-table',
  html`Medians, in milliseconds${isEager ? MORE : ''}`,
  html`<thead><tr><th scope="col">Wire</th>${columns.map(({ head }) => html`<th scope="col">${head}</th>`)}</tr></thead>
${comparisonsOf(entries).map((comparison) => group(comparison, columns))}`,
)}
<ul>${barsOf(entries).map((bar) => html`<li${bar.met ? '' : html` class="failed"`}>${barText(bar)}</li>\n`)}</ul>
</section>`
}

interface Column {
  readonly head: string
  cell(row: ComparisonRow): Html
}

function group({ scenario, rows }: Comparison, columns: readonly Column[]): Html {
  return html`<tbody>
<tr><th scope="rowgroup" colspan="${columns.length + 1}"><span class="id">${scenario.id}</span> ${scenario.title}</th></tr>
${rows.map(
  (row) => html`<tr><th scope="row">${WIRE_TITLES[row.wire]}</th>${columns.map((column) => column.cell(row))}</tr>\n`,
)}</tbody>`
}

function wallColumn(mode: Mode): Column {
  return {
    // The notes say that it is after the stream: here it would make the head four lines high.
    head: mode === 'parallel' ? 'Parallel' : MODE_HEADINGS[mode],
    cell({ modes }) {
      const entry = modes[mode]
      if (!entry) return html`<td>${NONE}</td>`
      if (entry.wallMs === null) return html`<td class="failed">failed</td>`
      return html`<td>${milliseconds(entry.wallMs)} <small>${beside(entry)}</small></td>`
    },
  }
}

const EAGER_COLUMNS: readonly Column[] = [
  {
    head: 'Saved',
    cell(row) {
      const entry = pacedEager(row)
      return html`<td class="gain">${signed(entry?.savedMs)}${rangeOf(entry)}</td>`
    },
  },
  { head: 'Predicted', cell: (row) => html`<td>${signed(pacedEager(row)?.predictedSavedMs)}</td>` },
]

/** Columns that need the log of our own server. */
const SERVED_COLUMNS: readonly Column[] = [
  { head: 'Off, or overhead', cell: ({ modes }) => html`<td>${checkText(modes.eager)}</td>` },
  { head: 'Possible', cell: (row) => html`<td>${milliseconds(pacedEager(row)?.possibleSavingMs)}</td>` },
  {
    head: 'Dispatch lag p50, p99 / max',
    cell(row) {
      const lag = earlyLag(row)
      if (!lag) return html`<td>${NONE}</td>`
      return html`<td>${precise(lag.p50)} <small>${precise(lag.p99)} / ${precise(lag.max)}</small></td>`
    },
  },
  { head: 'Turnaround', cell: ({ modes }) => html`<td>${precise(modes.eager?.turnaroundMs)}</td>` },
]

const CPU_COLUMN: Column = {
  head: 'CPU × bare loop’s',
  cell(row) {
    const times = cpuOverFloor(row)
    return html`<td>${times === undefined ? NONE : `${times.toFixed(2)}×`}</td>`
  },
}

function rangeOf(entry: Entry | undefined): Html | undefined {
  const range = entry?.savedMsRange
  return range && entry.runs > 1 ? html` <small>${spread(range)}</small>` : undefined
}
