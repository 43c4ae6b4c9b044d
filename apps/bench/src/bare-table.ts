/** Prints a table on the console without lines between cells. */

import { styleText } from 'node:util'
import Table from 'cli-table3'

/** The first column is aligned to the left, all others to the right. */
export function bareTable(
  columns: readonly { readonly head: string; readonly width: number }[],
  rows: readonly (readonly string[])[],
): string {
  const table = new Table({
    head: columns.map(({ head }) => styleText('dim', head)),
    colAligns: columns.map((_, index) => (index === 0 ? 'left' : 'right')),
    colWidths: columns.map(({ width }) => width),
    chars: BARE,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  })
  table.push(...rows.map((row) => [...row]))
  return table.toString()
}

const BARE = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '',
}
