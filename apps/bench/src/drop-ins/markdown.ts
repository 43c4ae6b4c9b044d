/** Writes the table of docs/drop-ins.md: loops of other libraries with and without their drop-ins. */

import { type Environment, machineText } from '../environment.ts'
import { milliseconds, NONE, percent, ratio } from '../format.ts'
import type { Scenario } from '../scenario.ts'
import { CPU_RUNS } from './cpu.ts'
import { LIBRARY_TITLES, titleOf } from './loops.ts'
import type { DropIns } from './measure-drop-ins.ts'
import type { DropInRow } from './rows.ts'

type Titles = readonly Pick<Scenario, 'id' | 'title'>[]

/** Two columns for each of these scenarios that was measured. */
export function dropInsMarkdown(dropIns: DropIns, scenarios: Titles, environment: Environment): string {
  const { rows, cpu, libraries } = dropIns
  const measured = scenarios.filter(({ id }) => rows.some(({ scenario }) => scenario === id))
  const loops = [...new Map(rows.map((row) => [`${row.loop} ${row.wire}`, row] as const)).values()]
  const lines = loops.map(({ loop, wire }) => {
    const of = (id: string) => rows.find((row) => row.scenario === id && row.loop === loop && row.wire === wire)
    const { ratio: part } = cpu.find((one) => one.loop === loop && one.wire === wire) ?? {}
    return [titleOf(loop), wire, ...measured.flatMap(({ id }) => cells(of(id))), ratio(part?.median)]
  })
  const heads = ['loop', 'wire', ...measured.flatMap(({ id }) => [`${id}, ms`, 'won back']), 'CPU ×']
  const versions = libraries.flatMap(({ name, version }) => (version ? [`${LIBRARY_TITLES[name]} ${version}`] : []))
  const about = measured.map(({ id, title }) => `\`${id}\`: ${title}.`).join(' ')
  return `${[heads, heads.map((_, at) => (at < 2 ? '---' : '--:')), ...lines].map(lineOf).join('\n')}

${about} Medians, as it is → with \`eager()\`; every tool is declared \`read\`. Won back: how much of the
avoidable time \`eager()\` saves. The avoidable time is the time of the loop as it is, minus the shortest time that is possible. One time and a –: the
loop requests whole responses, and the server of the bench only streams. So it ran only with \`alwaysStream\`, and there is nothing to compare with.
\`resilient()\`: the loop of the row above → with [\`resilient([model])\`](resilient.md) instead of \`eager()\`, which saves no time.
CPU ×: the user time of ${CPU_RUNS} runs without pauses, divided by that of the loop as it is.
Measured with ${new Intl.ListFormat('en').format(versions)}. Machine: ${machineText(environment)}.
`
}

function cells(row: DropInRow | undefined): readonly string[] {
  if (!row) return [NONE, NONE]
  const { plain, eager, wonBack } = row
  const times = [...(plain ? [milliseconds(plain.wallMs)] : []), milliseconds(eager?.wallMs)]
  return [times.join(' → '), wonBack === null ? NONE : percent(wonBack)]
}

function lineOf(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}
