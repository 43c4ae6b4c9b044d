/** The report's section that shows whether twice the arguments take twice the time, as a picture and as a table. */

import type { Entry } from '../cell.ts'
import { milliseconds, NONE } from '../format.ts'
import { growthChart } from './growth-chart.ts'
import { type Growth, growthOf, sizesOf, wiresOf } from './growth-points.ts'
import { type Html, html } from './html.ts'
import { WIRE_TITLES, wayTitle } from './names.ts'
import { scrollingTable } from './scrolling-table.ts'

/** Undefined unless at least two sizes were measured. */
export function growthSection(entries: readonly Entry[]): Html | undefined {
  const growths = growthOf(entries)
  if (growths.length === 0) return undefined
  return html`<section aria-labelledby="growth">
<h2 id="growth">Growth with the arguments</h2>
<p>CPU time of a run in which the model sends one call’s arguments as fast as it can. On a straight line twice the arguments take twice the time.</p>
<figure>
${growthChart(growths)}
<details><summary>The same as a table</summary>
${table(growths)}
</details>
</figure>
</section>`
}

function table(growths: readonly Growth[]): Html {
  const sizes = sizesOf(growths)
  return scrollingTable(
    'growth-table',
    'Median CPU time by the size of the arguments, in milliseconds',
    html`<thead><tr><th scope="col">Way</th>${sizes.map((size) => html`<th scope="col">${size} KB</th>`)}</tr></thead>
${wiresOf(growths).map(
  (wire) => html`<tbody>
<tr><th scope="rowgroup" colspan="${sizes.length + 1}">${WIRE_TITLES[wire]}</th></tr>
${growths.filter((growth) => growth.wire === wire).map((growth) => row(growth, sizes))}</tbody>`,
)}`,
  )
}

function row({ way, points }: Growth, sizes: readonly number[]): Html {
  const cells = sizes.map((size) => points.find(({ kilobytes }) => kilobytes === size)?.cpuMs)
  return html`<tr><th scope="row">${wayTitle(way)}</th>${cells.map((ms) => html`<td>${ms === undefined ? NONE : milliseconds(ms)}</td>`)}</tr>\n`
}
