/** The results as one self-contained page. */

import { readFileSync } from 'node:fs'
import type { Entry } from '../cell.ts'
import { modesOf } from '../comparison.ts'
import { failuresOf } from '../notes.ts'
import type { Results } from '../results.ts'
import { dropInsSection } from './drop-ins.ts'
import { faults, loops } from './faults.ts'
import { figures } from './figures.ts'
import { growthSection } from './growth.ts'
import { Html, html } from './html.ts'
import { ledgerSection } from './ledger.ts'
import { method } from './method.ts'
import { peersSection } from './peers.ts'
import { headline } from './savings.ts'
import { timelines } from './timelines.ts'

export function reportOf(results: Results): string {
  const { cells } = results
  const entries = cells.map(({ entry }) => entry)
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Meanwhile bench: eager tools against waiting</title>
<style>
${[import.meta.resolve('@meanwhile/devtools/family.css'), new URL('style.css', import.meta.url)].map(styles)}</style>
</head>
<body>
${patterns()}
<main>
${headline(entries)}
${failures(entries)}
${timelines(cells)}
${modesOf(entries).length > 0 ? figures(entries) : undefined}
${ledgerSection(cells)}
${results.peers && peersSection(entries, results.peers)}
${results.dropIns && dropInsSection(results.dropIns, entries)}
${growthSection(entries)}
${results.faults && faults(results.faults)}
${results.loops && loops(results.loops)}
${method(entries, results)}
</main>
</body>
</html>
`.text
}

const styles = (file: string | URL): Html => new Html(readFileSync(new URL(file), 'utf8'))

function failures(entries: readonly Entry[]): Html | undefined {
  const failures = failuresOf(entries)
  if (failures.length === 0) return undefined
  return html`<section class="failures" aria-labelledby="failures">
<h2 id="failures">What failed</h2>
<ul>${failures.map((failure) => html`<li>${failure}</li>`)}</ul>
</section>`
}

/** The hatching for saved time, which every picture uses. */
function patterns(): Html {
  return html`<svg class="patterns" width="0" height="0" aria-hidden="true"><defs>
<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6"/><line y2="6"/></pattern>
</defs></svg>`
}
