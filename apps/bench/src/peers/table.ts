/** The table of other libraries next to ours, for the console. */

import { styleText } from 'node:util'
import { bareTable } from '../bare-table.ts'
import type { Entry } from '../cell.ts'
import { beside, type ComparisonRow, comparisonsOf, peersOf } from '../comparison.ts'
import { milliseconds, NONE, precise } from '../format.ts'
import type { Way } from '../modes.ts'
import type { PeerState } from './install.ts'
import { peerNotes } from './notes.ts'

/** A table per scenario, with a row for each wire and a column for each library. */
export function peersTable(entries: readonly Entry[], states: readonly PeerState[]): string {
  const peers = peersOf(entries)
  const columns = columnsOf(states.filter(({ name }) => peers.includes(name)))
  const parts =
    peers.length === 0
      ? []
      : comparisonsOf(entries).map(({ scenario: { id, title }, rows }) => {
          const cells = rows.map((row) => columns.map((column) => column.cell(row)))
          return `${styleText('bold', `${id}  ${title}`)}\n${bareTable(columns, cells)}`
        })
  const notes = peerNotes(states).map((note) => styleText('dim', note))
  return `${[styleText('bold', 'Compared with other libraries'), ...parts, notes.join('\n')].join('\n\n')}\n`
}

interface Column {
  readonly head: string
  readonly width: number
  cell(row: ComparisonRow): string
}

function columnsOf(states: readonly PeerState[]): readonly Column[] {
  const column = (head: string, way: Way): Column => ({
    head,
    width: Math.max(22, head.length + 2),
    cell: ({ modes }) => textOf(modes[way]),
  })
  return [
    { head: '', width: 19, cell: ({ wire }) => `   ${wire}` },
    column('ours, eager', 'eager'),
    column('ours, parallel', 'parallel'),
    ...states.map(({ name, version }) => column(`${name} ${version}`, name)),
  ]
}

/** `1,914 1.004× 0.4`: wall-clock, over the bound, lag. */
function textOf(entry: Entry | undefined): string {
  if (!entry) return NONE
  if (entry.wallMs === null) return styleText('red', 'failed')
  const lag = entry.dispatchLagMs && ` ${precise(entry.dispatchLagMs.p50)}`
  return `${milliseconds(entry.wallMs)} ${styleText('dim', `${beside(entry)}${lag ?? ''}`)}`
}
