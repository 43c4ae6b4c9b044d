/** What goes wrong by which rule, as a table. */

import { LOOP_HEADS, LOOPS_TITLE, loopNotes, loopRows } from '../faults/loops/summary.ts'
import type { TriedLoops } from '../faults/loops/try-loops.ts'
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

/** The same for loops of other libraries. */
export function loops(tried: TriedLoops): Html {
  return html`<section aria-labelledby="loops">
<h2 id="loops">${LOOPS_TITLE}</h2>
${scrollingTable(
  'loops-table',
  html`By loop, over all cuts${MORE}`,
  html`<thead><tr><th scope="col">Loop</th>${LOOP_HEADS.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>
${loopRows(tried).map(
  ({ title, figures }) =>
    html`<tr><th scope="row">${title}</th>${figures.map(({ text, isBad }) => (isBad ? html`<td class="failed">${text}</td>` : html`<td>${text}</td>`))}</tr>\n`,
)}</tbody>`,
)}
<ul>${loopNotes(tried).map((note) => html`<li>${note}</li>\n`)}</ul>
</section>`
}
