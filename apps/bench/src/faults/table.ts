/** The fault matrix on the console: a row for each fault, a column for each rule. */

import { styleText } from 'node:util'
import { bareTable } from '../bare-table.ts'
import { type FaultCell, RULES } from './matrix.ts'
import { earlyNote, FAULT_NOTES, FAULTS_TITLE, faultRows, RULE_TITLES } from './summary.ts'

export function faultTable(cells: readonly FaultCell[]): string {
  const columns = [
    { head: '', width: 36 },
    { head: 'scripts', width: 8 },
    ...RULES.map((rule) => ({ head: RULE_TITLES[rule], width: rule === 'ours' ? 13 : 35 })),
  ]
  const rows = faultRows(cells).map(({ title, scripts, forbidden }) => [
    `   ${title}`,
    scripts.toLocaleString('en'),
    ...forbidden.map((text) => (text === '0' ? text : styleText('red', text))),
  ])
  const notes = [...FAULT_NOTES, earlyNote(cells)].map((note) => styleText('dim', note))
  return `${styleText('bold', FAULTS_TITLE)}\n${bareTable(columns, rows)}\n\n${notes.join('\n')}\n`
}
