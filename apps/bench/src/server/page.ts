/** Prints what a turn costs a server, and writes docs/server-costs.md. */

import { styleText } from 'node:util'
import { bareTable } from '../bare-table.ts'
import { type Environment, machineText } from '../environment.ts'
import { count } from '../format.ts'
import type { ServerCost } from './measure-server.ts'
import type { Plan } from './plan.ts'
import { type CostTable, tablesOf } from './tables.ts'

export function printedCosts(cost: ServerCost, plan: Plan, machine: Environment): string {
  const tables = tablesOf(cost).flatMap(({ title, about, heads, rows }) => [
    '',
    styleText('bold', title),
    bareTable(columnsOf({ title, about, heads, rows }), rows),
    styleText('dim', about),
  ])
  return [...tables, '', styleText('dim', circumstances(cost, plan, machine)), ''].join('\n')
}

function columnsOf({ heads, rows }: CostTable) {
  return heads.map((head, index) => {
    return { head, width: 2 + Math.max(head.length, ...rows.map((row) => row[index]?.length ?? 0)) }
  })
}

/** Returns the page. */
export function serverCostsPage(cost: ServerCost, plan: Plan, machine: Environment): string {
  const tables = tablesOf(cost).map(
    ({ title, about, heads, rows }) => `## ${title}

${about}

${[heads, heads.map((_, index) => (index === 0 ? '---' : '--:')), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')}
`,
  )
  return `# What a turn costs a server

Written by \`npm run bench -- server --markdown docs/server-costs.md\`; do not edit it. ${ABOUT}

${circumstances(cost, plan, machine)}

${tables.join('\n')}`
}

const ABOUT = `A chat server, its clients, its model and PostgreSQL share one machine, so only the ratios between the rows
and their slopes mean something. Each turn has two responses of a model that speaks at a steady speed over HTTP, and three calls of a tool that takes 100 ms.`

function circumstances({ version }: ServerCost, { rounds, speech, threads }: Plan, machine: Environment): string {
  return `The model sends ${speech.wordsPerSecond} words a second, and ${speech.words + 20} in a turn. The rows of a turn are medians of ${count(rounds, 'round')}; long threads are measured with ${threads} turns at once. Statements are what a process sends to PostgreSQL, BEGIN and COMMIT included; with SQLite, transactions that write. kB: the values of all statements. Late: from the model's word to the page. PostgreSQL ${version}. Machine: ${machineText(machine)}.`
}
