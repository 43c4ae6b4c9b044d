/** The pictures of all scenarios, one wire at a time: the choice of the wire needs no script. */

import type { WireName } from '@meanwhile/harness/server'
import type { Cell } from '../cell.ts'
import { comparisonsOf, type Label } from '../comparison.ts'
import { MODES } from '../modes.ts'
import { type Html, html } from './html.ts'
import type { Lane } from './lane.ts'
import { legend } from './legend.ts'
import { WIRE_TITLES } from './names.ts'
import { timelineOf } from './timeline.ts'

export function timelines(cells: readonly Cell[]): Html | undefined {
  const wires = [...new Set(cells.map(({ entry }) => entry.wire))]
  const figures = comparisonsOf(cells.map(({ entry }) => entry)).flatMap(
    ({ scenario }) => figureOf(scenario, wires, cells) ?? [],
  )
  if (figures.length === 0) return undefined
  return html`<section aria-labelledby="timelines">
<h2 id="timelines">Where the time goes</h2>
${wires.length > 1 ? chooser(wires) : undefined}
${legend(cells.some(({ typical }) => typical?.bound !== undefined))}
${figures}
</section>`
}

/** style.css shows the figures of the checked wire. */
function chooser(wires: readonly WireName[]): Html {
  return html`<fieldset class="wires">
<legend>Wire format</legend>
${wires.map(
  (wire, index) =>
    html`<label><input type="radio" name="wire" value="${wire}"${index === 0 ? html` checked` : ''}> ${WIRE_TITLES[wire]}</label>\n`,
)}</fieldset>`
}

function figureOf({ id, title, shape }: Label, wires: readonly WireName[], cells: readonly Cell[]): Html | undefined {
  const byWire = wires
    .map((wire) => ({ wire, lanes: lanesOf(id, wire, cells) }))
    .filter(({ lanes }) => lanes.length > 0)
  if (byWire.length === 0) return undefined
  const span = 1.01 * Math.max(...byWire.flatMap(({ lanes }) => lanes.map(({ timeline }) => timeline.end)))
  return html`<figure>
<figcaption><h3><span class="id">${id}</span> ${title}</h3><p>${shape}</p></figcaption>
${byWire.map(
  ({ wire, lanes }) =>
    html`<div class="on-wire" data-wire="${wire}"><p class="wire">${WIRE_TITLES[wire]}</p>
${timelineOf(`${id}-${wire}`, lanes, span, `${title}, ${WIRE_TITLES[wire]}`)}</div>\n`,
)}</figure>`
}

function lanesOf(id: string, wire: WireName, cells: readonly Cell[]): readonly Lane[] {
  // The bare loop is only a reference, not a way to run an agent.
  return MODES.filter((mode) => mode !== 'floor').flatMap((mode) => {
    const cell = cells.find(({ entry }) => entry.scenario === id && entry.wire === wire && entry.mode === mode)
    return cell?.typical ? [{ mode, entry: cell.entry, timeline: cell.typical }] : []
  })
}
