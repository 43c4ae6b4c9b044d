/** Loops of other libraries under faults, on the console. */

import { styleText } from 'node:util'
import { bareTable } from '../../bare-table.ts'
import { LOOP_HEADS, LOOPS_TITLE, loopNotes, loopRows } from './summary.ts'
import type { TriedLoops } from './try-loops.ts'

export function loopsTable(tried: TriedLoops): string {
  const columns = [{ head: '', width: 36 }, ...LOOP_HEADS.map((head) => ({ head, width: 10 }))]
  const rows = loopRows(tried).map(({ title, figures }) => [
    `   ${title}`,
    ...figures.map(({ text, isBad }) => (isBad ? styleText('red', text) : text)),
  ])
  const notes = loopNotes(tried).map((note) => styleText('dim', note))
  return `${styleText('bold', LOOPS_TITLE)}\n${bareTable(columns, rows)}\n\n${notes.join('\n')}\n`
}
