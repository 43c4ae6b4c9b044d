/** The report's section that compares other libraries with ours. */

import type { Entry } from '../cell.ts'
import { beside, type Comparison, type ComparisonRow, comparisonsOf, peersOf } from '../comparison.ts'
import { milliseconds, NONE, precise } from '../format.ts'
import type { Way } from '../modes.ts'
import type { PeerState } from '../peers/install.ts'
import { peerNotes } from '../peers/notes.ts'
import { type Html, html } from './html.ts'
import { WIRE_TITLES } from './names.ts'
import { scrollingTable } from './scrolling-table.ts'

export function peersSection(entries: readonly Entry[], states: readonly PeerState[]): Html {
  const measured = peersOf(entries)
  const columns: readonly Column[] = [
    { head: 'Ours, eager', way: 'eager' },
    { head: 'Ours, parallel', way: 'parallel' },
    ...states
      .filter(({ name }) => measured.includes(name))
      .map(({ name, version }) => ({ head: `${name} ${version}`, way: name })),
  ]
  return html`<section aria-labelledby="peers">
<h2 id="peers">Compared with other libraries</h2>
${measured.length > 0 ? table(entries, columns) : undefined}
<ul>${peerNotes(states).map((note) => html`<li>${note}</li>\n`)}</ul>
</section>`
}

interface Column {
  readonly head: string
  readonly way: Way
}

function table(entries: readonly Entry[], columns: readonly Column[]): Html {
  return scrollingTable(
    'peers-table',
    'Medians of other libraries and ours, in milliseconds',
    html`<thead><tr><th scope="col">Wire</th>${columns.map(({ head }) => html`<th scope="col">${head}</th>`)}</tr></thead>
${comparisonsOf(entries).map((comparison) => group(comparison, columns))}`,
  )
}

function group({ scenario, rows }: Comparison, columns: readonly Column[]): Html {
  return html`<tbody>
<tr><th scope="rowgroup" colspan="${columns.length + 1}"><span class="id">${scenario.id}</span> ${scenario.title}</th></tr>
${rows.map((row) => html`<tr><th scope="row">${WIRE_TITLES[row.wire]}</th>${columns.map(({ way }) => cell(row, way))}</tr>\n`)}</tbody>`
}

function cell({ modes }: ComparisonRow, way: Way): Html {
  const entry = modes[way]
  if (!entry) return html`<td>${NONE}</td>`
  if (entry.wallMs === null) return html`<td class="failed">failed</td>`
  const lag = entry.dispatchLagMs && ` · ${precise(entry.dispatchLagMs.p50)}`
  return html`<td>${milliseconds(entry.wallMs)} <small>${beside(entry)}${lag ?? ''}</small></td>`
}
