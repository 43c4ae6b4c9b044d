/** The headline: what eager saves against parallel, by scenario, including scenarios without savings. */

import type { Entry } from '../cell.ts'
import { comparisonsOf, isPaced, type Label } from '../comparison.ts'
import { milliseconds, percent } from '../format.ts'
import { BASELINE } from '../modes.ts'
import { median } from '../stats.ts'
import { type Html, html } from './html.ts'
import { NOISE } from './noise.ts'

/** Medians over the wires. */
interface Saving {
  readonly scenario: Label
  readonly savedMs: number
  readonly parallelMs: number
  readonly share: number
}

export function headline(entries: readonly Entry[]): Html {
  const savings = savingsOf(entries)
  const title = titleOf(savings.map(({ share }) => (Math.abs(share) < NOISE ? 0 : share)))
  return html`<header>
<p class="name">Meanwhile · bench</p>
<h1>${title}</h1>
<p class="lede">Eager tools start while the model is still streaming. ${sentence(savings)}</p>
${savings.length > 0 ? html`<ul class="savings">${savings.map(tile)}</ul>` : undefined}
</header>`
}

/** From the smallest to the largest: never only the best case. */
function titleOf(shares: readonly number[]): string {
  const [least, most] = [Math.min(...shares), Math.max(...shares)]
  if (shares.length === 0 || most <= 0) return 'Eager tools, measured'
  const range = least === most ? percent(most) : `${Math.round(least * 100)} to ${percent(most)}`
  return `Answers come ${range} sooner`
}

function savingsOf(entries: readonly Entry[]): readonly Saving[] {
  return comparisonsOf(entries).flatMap(({ scenario, rows }) => {
    const savedMs = median(rows.flatMap(({ modes }) => savedBy(modes.eager) ?? []))
    const parallelMs = median(rows.flatMap(({ modes }) => modes[BASELINE]?.wallMs ?? []))
    if (savedMs === undefined || parallelMs === undefined || !isPaced(scenario)) return []
    return [{ scenario, savedMs, parallelMs, share: savedMs / parallelMs }]
  })
}

/** A real model's answers differ from run to run: there each eager run's own report is used. */
function savedBy(eager: Entry | undefined): number | null | undefined {
  return eager?.timing === 'live' ? eager.predictedSavedMs : eager?.savedMs
}

function sentence(savings: readonly Saving[]): string {
  const gains = savings.filter(({ share }) => share >= NOISE)
  const level = savings.filter(({ share }) => Math.abs(share) < NOISE)
  const losses = savings.filter(({ share }) => share <= -NOISE)
  const parts = [
    gains.length > 0
      ? `they save ${list(gains.map(({ scenario, savedMs }) => `${milliseconds(savedMs)} ms in ${scenario.id}`))}`
      : '',
    level.length > 0
      ? `in ${list(level.map(({ scenario }) => scenario.id))} there is nothing to save, and nothing is lost`
      : '',
    losses.length > 0
      ? `they lose ${list(losses.map(({ scenario, savedMs }) => `${milliseconds(-savedMs)} ms in ${scenario.id}`))}`
      : '',
  ].filter((part) => part !== '')
  return parts.length === 0 ? '' : `Against the same tools in parallel after the stream: ${parts.join('; ')}.`
}

function tile({ scenario, savedMs, parallelMs, share }: Saving): Html {
  const level = Math.abs(share) < NOISE
  return html`<li${level ? html` class="level"` : ''}>
<p class="scenario"><span class="id">${scenario.id}</span> ${scenario.title}</p>
<p class="share">${percent(level ? 0 : share)}</p>
<p class="of">${level ? `${milliseconds(parallelMs)} ms either way` : `${milliseconds(savedMs)} of ${milliseconds(parallelMs)} ms`}</p>
</li>`
}

function list(items: readonly string[]): string {
  return items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`
}
