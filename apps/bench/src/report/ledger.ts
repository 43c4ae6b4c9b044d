/** The savings ledger: what eager runs report, step by step. */

import type { StepSavings } from '@meanwhile/eager-tools'
import type { Cell } from '../cell.ts'
import { comparisonsOf, isPaced } from '../comparison.ts'
import { milliseconds, signed } from '../format.ts'
import { type Html, html } from './html.ts'
import { WIRE_TITLES } from './names.ts'
import { MORE, scrollingTable } from './scrolling-table.ts'

/** Undefined unless something was measured that could be saved. */
export function ledgerSection(cells: readonly Cell[]): Html | undefined {
  const paced = cells.filter(({ entry, ledger }) => isPaced(entry) && ledger && ledger.length > 0)
  if (paced.length === 0) return undefined
  return html`<section aria-labelledby="ledger">
<h2 id="ledger">The savings ledger</h2>
${scrollingTable(
  'ledger-table',
  html`As the eager runs report it, in milliseconds${MORE}`,
  html`<thead><tr><th scope="col">Wire</th>${HEADS.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
${comparisonsOf(paced.map(({ entry }) => entry)).map(({ scenario }) => group(scenario, paced))}`,
)}
<ul>${NOTES.map((note) => html`<li>${note}</li>\n`)}</ul>
</section>`
}

const HEADS = ['Saved', 'Wasted', 'Step', 'Calls in parallel', 'Calls one by one', 'Stream', 'Calls started early']

const NOTES: readonly string[] = [
  'The run nearest to the median: the values of result.savings, which every agent with eager tools has, for each step with calls, from its request on.',
  'Saved: calls in parallel minus step. Wasted: how long calls ran whose results were discarded.',
  'Step: when it ended. Calls in parallel, one by one: when it would have ended, with the same calls after the stream. Stream: when the model ended.',
]

function group({ id, title }: { readonly id: string; readonly title: string }, cells: readonly Cell[]): Html {
  const mine = cells.filter(({ entry }) => entry.scenario === id)
  return html`<tbody>
<tr><th scope="rowgroup" colspan="${HEADS.length + 1}"><span class="id">${id}</span> ${title}</th></tr>
${mine.map(({ entry, ledger = [] }) =>
  ledger.map((step) =>
    row(ledger.length > 1 ? `${WIRE_TITLES[entry.wire]}, step ${step.step}` : WIRE_TITLES[entry.wire], step),
  ),
)}</tbody>`
}

function row(
  title: string,
  { streamMs, sequentialMs, parallelMs, actualMs, savedMs, wastedMs, calls }: StepSavings,
): Html {
  const times = [wastedMs, actualMs, parallelMs, sequentialMs, streamMs]
  const early = calls.filter(({ evidence }) => evidence !== undefined).length
  return html`<tr><th scope="row">${title}</th><td class="gain">${signed(savedMs)}</td>${times.map((time) => html`<td>${milliseconds(time)}</td>`)}<td>${early} of ${calls.length}</td></tr>\n`
}
