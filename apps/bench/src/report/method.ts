/** The report's section on how and on what machine it was measured. */

import type { Entry } from '../cell.ts'
import { isServedHere } from '../comparison.ts'
import { notesOf } from '../notes.ts'
import type { Results } from '../results.ts'
import { type Html, html } from './html.ts'

export function method(entries: readonly Entry[], results: Results): Html {
  const columns = isServedHere(entries) && entries.some(({ mode }) => mode === 'eager') ? COLUMNS : []
  return html`<section aria-labelledby="method">
<h2 id="method">How it was measured</h2>
<ul>${[...notesOf(entries, results), ...columns].map((note) => html`<li>${note}</li>\n`)}</ul>
<dl>${facts(entries, results).map(([term, fact]) => html`<div><dt>${term}</dt><dd>${fact}</dd></div>\n`)}</dl>
</section>`
}

/** Columns of this table that the one on the console does not have. */
const COLUMNS: readonly string[] = [
  'Possible: the most that eager could have saved against parallel, according to what the server sent in that run.',
  'Turnaround: stream and tools done → the next request arrived at the server.',
]

const ENDPOINTS = { server: 'HTTP server in its own process', msw: 'MSW, in the same process' } as const

function facts(
  entries: readonly Entry[],
  { environment, options, peakRssMb }: Results,
): readonly (readonly [string, string])[] {
  const { node, clients, platform, cpu, memoryMb, loadAverage, loadAverageAfter, date } = environment
  const { transport, runs, modes, live, dropIns } = options
  const timed: readonly (readonly [string, string])[] =
    entries.length > 0
      ? [
          ['Runs', dropIns ? `${runs.parallel} of each` : modes.map((mode) => `${mode} ${runs[mode]}`).join(', ')],
          ['Endpoint', live ? `${live.model} at ${live.url}` : ENDPOINTS[transport]],
        ]
      : []
  return [
    ['Measured', date.replace('T', ' ').replace(/\..*/, ' UTC')],
    ...timed,
    ['Node', node],
    [
      'Clients',
      Object.entries(clients)
        .map((client) => client.join(' '))
        .join(', '),
    ],
    ['Machine', `${cpu.count} × ${cpu.model}, ${memoryMb.toLocaleString('en')} MB, ${platform}`],
    ['Governor', cpu.governor ?? 'unknown'],
    ['Load before', loadAverage.join(', ')],
    ...(loadAverageAfter ? [['Load after', loadAverageAfter.join(', ')] as const] : []),
    ['Peak memory', `${peakRssMb.toLocaleString('en')} MB`],
  ]
}
