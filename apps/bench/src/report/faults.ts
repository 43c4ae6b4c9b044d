/** What goes wrong by which rule, as a table. */

import { type FaultCell, RULES } from '../faults/matrix.ts'
import { earlyNote, FAULT_NOTES, FAULTS_TITLE, faultRows, RULE_TITLES } from '../faults/summary.ts'
import { type Html, html } from './html.ts'
import { MORE, scrollingTable } from './scrolling-table.ts'

export function faults(cells: readonly FaultCell[]): Html {
  const heads = ['Scripts', ...RULES.map((rule) => RULE_TITLES[rule])]
  return html`<section aria-labelledby="faults">
<h2 id="faults">${FAULTS_TITLE}</h2>
${scrollingTable(
  'faults-table',
  html`By fault, over tools of every effect${MORE}`,
  html`<thead><tr><th scope="col">Fault</th>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>
${faultRows(cells).map(
  ({ title, scripts, forbidden }) =>
    html`<tr><th scope="row">${title}</th><td>${scripts.toLocaleString('en')}</td>${forbidden.map((text) => (text === '0' ? html`<td>0</td>` : html`<td class="failed">${text}</td>`))}</tr>\n`,
)}</tbody>`,
)}
<ul>${[...FAULT_NOTES, earlyNote(cells)].map((note) => html`<li>${note}</li>\n`)}</ul>
</section>`
}
