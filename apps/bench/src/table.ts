/** The table of results on the console. */

import { styleText } from 'node:util'
import { bareTable } from './bare-table.ts'
import { barsOf, barText } from './bars.ts'
import type { Entry } from './cell.ts'
import {
  beside,
  type ComparisonRow,
  checkText,
  comparisonsOf,
  cpuOverFloor,
  earlyLag,
  isServedHere,
  modesOf,
  pacedEager,
} from './comparison.ts'
import { machineText } from './environment.ts'
import { NONE, precise, signed, spread } from './format.ts'
import { MODE_TITLES } from './modes.ts'
import { type Circumstances, failuresOf, notesOf } from './notes.ts'

/** A table per scenario, with a row for each wire and a column for each mode; the notes follow. */
export function tableOf(entries: readonly Entry[], about: Circumstances): string {
  const columns = columnsOf(entries)
  const parts = comparisonsOf(entries).map(({ scenario: { id, title, shape }, rows }) => {
    const heading = `${styleText('bold', `${id}  ${title}`)}\n   ${styleText('dim', shape)}`
    return `${heading}\n${lines(columns, rows)}`
  })
  const failures = failuresOf(entries).map((failure) => styleText('red', `✗ ${failure}`))
  const bars = barsOf(entries).map((bar) => styleText(bar.met ? 'green' : 'red', barText(bar)))
  const machine = `Machine: ${machineText(about.environment)}.`
  const notes = [...notesOf(entries, about), machine].map((note) => styleText('dim', note))
  return `\n${parts.join('\n\n')}\n\n${[...failures, ...bars, ...notes].join('\n')}\n`
}

interface Column {
  readonly head: string
  readonly width: number
  cell(row: ComparisonRow): string
}

function columnsOf(entries: readonly Entry[]): readonly Column[] {
  const modes = modesOf(entries)
  return [
    { head: '', width: 19, cell: ({ wire }) => `   ${wire}` },
    ...modes.map((mode) => ({
      head: MODE_TITLES[mode],
      width: 14,
      cell: (row: ComparisonRow) => wall(row.modes[mode]),
    })),
    ...(modes.includes('eager') ? [SAVED, SPREAD, PREDICTED, ...(isServedHere(entries) ? [CHECK, LAG] : [])] : []),
    ...(comparisonsOf(entries).some(({ rows }) => rows.some(cpuOverFloor)) ? [CPU] : []),
  ]
}

const SAVED: Column = {
  head: 'saved',
  width: 8,
  cell: (row) => styleText('bold', signed(pacedEager(row)?.savedMs)),
}

const SPREAD: Column = {
  head: 'min … max',
  width: 17,
  cell: (row) => styleText('dim', spread(pacedEager(row)?.savedMsRange)),
}

const PREDICTED: Column = {
  head: 'predicted',
  width: 11,
  cell: (row) => signed(pacedEager(row)?.predictedSavedMs),
}

const CHECK: Column = {
  head: 'off/over',
  width: 10,
  cell({ modes: { eager } }) {
    const text = checkText(eager)
    return eager?.holds.prediction === false || eager?.holds.overhead === false ? styleText('red', text) : text
  },
}

const LAG: Column = {
  head: 'lag p50/p99/max',
  width: 20,
  cell(row) {
    const lag = earlyLag(row)
    return lag ? [lag.p50, lag.p99, lag.max].map(precise).join(' / ') : NONE
  },
}

const CPU: Column = {
  head: 'CPU',
  width: 8,
  cell(row) {
    const times = cpuOverFloor(row)
    return times === undefined ? NONE : `${times.toFixed(2)}×`
  },
}

function wall(entry: Entry | undefined): string {
  if (!entry) return ''
  if (entry.wallMs === null) return styleText('red', 'failed')
  return `${Math.round(entry.wallMs)} ${styleText('dim', beside(entry))}`
}

function lines(columns: readonly Column[], rows: readonly ComparisonRow[]): string {
  return bareTable(
    columns,
    rows.map((row) => columns.map((column) => column.cell(row))),
  )
}
