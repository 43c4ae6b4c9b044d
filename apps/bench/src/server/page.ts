/** Prints what a turn costs a server, and writes docs/server-costs.md. */

import { styleText } from 'node:util'
import { bareTable } from '../bare-table.ts'
import { machineText } from '../environment.ts'
import { count } from '../format.ts'
import type { Figures, Measured } from './figures.ts'
import { SETUP_NAMES } from './setups.ts'
import { type CostTable, tablesOf } from './tables.ts'

export function printedCosts(figures: Figures): string {
  const tables = tablesOf(figures).flatMap(({ title, about, heads, rows }) => [
    '',
    styleText('bold', title),
    bareTable(columnsOf({ title, about, heads, rows }), rows),
    styleText('dim', about),
  ])
  return [...tables, '', styleText('dim', circumstances(figures).join('\n')), ''].join('\n')
}

function columnsOf({ heads, rows }: CostTable) {
  return heads.map((head, index) => {
    return { head, width: 2 + Math.max(head.length, ...rows.map((row) => row[index]?.length ?? 0)) }
  })
}

/** Returns the page. */
export function serverCostsPage(figures: Figures): string {
  const tables = tablesOf(figures).map(
    ({ title, about, heads, rows }) => `## ${title}

${about}

${[heads, heads.map((_, index) => (index === 0 ? '---' : '--:')), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')}
`,
  )
  return `# What a turn costs a server

Written by \`npm run bench -- server --markdown docs/server-costs.md\`; do not edit it. ${ABOUT}

${circumstances(figures).join('\n\n')}

${tables.join('\n')}`
}

const ABOUT = `A chat server, its clients, its model and PostgreSQL share one machine, so only the ratios between the rows
and their slopes mean something. Each turn has two responses of a model that speaks at a steady speed over HTTP, and three calls of a tool that takes 100 ms.`

/** What holds for all rows, and a paragraph for each measurement. */
function circumstances({ version, measured }: Figures): readonly string[] {
  const [{ plan } = {}] = measured
  const words = plan
    ? `The model sends ${plan.speech.wordsPerSecond} words a second, and ${plan.speech.words + 20} in a turn. `
    : ''
  return [
    `${words}Statements are what a process sends to PostgreSQL, BEGIN and COMMIT included; with SQLite, transactions that write. kB: the values of all statements. Late: from the model's word to the page. PostgreSQL ${version}.`,
    ...measured.map(measuredText),
  ]
}

/** `Measured: 10 turns at once; threads of 0 and 1,000 messages, 3 turns at once; medians of 3 rounds. Machine: …` */
function measuredText({ plan, machine }: Measured): string {
  const { servers, loads, lengths, readers, workers, rounds, threads } = plan
  const parts = [
    ...(loads.length > 0 ? [`${listed(loads)} turns at once`] : []),
    ...(lengths.length > 0 ? [`threads of ${listed(lengths)} messages, ${threads} turns at once`] : []),
    ...(readers.length > 0 ? [`${listed(readers)} readers`] : []),
    ...(workers.length > 0 ? [`durable runs with ${listed(workers)} workers`] : []),
  ]
  const of = servers.length > 0 && servers.length < SETUP_NAMES.length ? ` (${servers.join(', ')})` : ''
  return `Measured${of}: ${parts.join('; ')}; medians of ${count(rounds, 'round')}. Machine: ${machineText(machine)}.`
}

function listed(numbers: readonly number[]): string {
  return new Intl.ListFormat('en').format(numbers.map((one) => one.toLocaleString('en')))
}
