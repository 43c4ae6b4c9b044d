/** The table of loops of other libraries with and without their drop-ins, for the console. */

import { styleText } from 'node:util'
import { bareTable } from '../bare-table.ts'
import { barText } from '../bars.ts'
import type { Entry } from '../cell.ts'
import { comparisonsOf } from '../comparison.ts'
import { machineText } from '../environment.ts'
import { milliseconds, NONE, percent, precise, ratio } from '../format.ts'
import { type Circumstances, failuresOf, notesOf } from '../notes.ts'
import { dropInBars } from './bars.ts'
import type { LoopCpu } from './cpu.ts'
import { titleOf } from './loops.ts'
import type { DropIns } from './measure-drop-ins.ts'
import { dropInNotes, problemsOf } from './notes.ts'
import { type DropInRow, type LoopFigures, type OwnTime, rowsIn } from './rows.ts'

export function dropInsTable(dropIns: DropIns, entries: readonly Entry[], about: Circumstances): string {
  const parts = comparisonsOf(entries).flatMap(({ scenario: { id, title, shape } }) => {
    const rows = rowsIn(dropIns.rows, id)
    if (rows.length === 0) return []
    return [
      `${styleText('bold', `${id}  ${title}`)}\n   ${styleText('dim', shape)}\n${scenarioTable(rows, dropIns.ownTimes)}`,
    ]
  })
  const costs =
    dropIns.ownTimes.length > 0 ? [`${styleText('bold', 'What the loops themselves take')}\n${costTable(dropIns)}`] : []
  const wrong = [...problemsOf(dropIns), ...failuresOf(entries)].map((text) => styleText('red', `✗ ${text}`))
  const bars = dropInBars(dropIns).map((bar) => styleText(bar.met ? 'green' : 'red', barText(bar)))
  const machine = `Machine: ${machineText(about.environment)}.`
  const notes = [...dropInNotes(dropIns), ...notesOf(entries, about), machine].map((note) => styleText('dim', note))
  return `\n${[...parts, ...costs, [...wrong, ...bars, ...notes].join('\n')].join('\n\n')}\n`
}

function scenarioTable(rows: readonly DropInRow[], ownTimes: readonly OwnTime[]): string {
  const columns = [
    { head: '', width: 45 },
    { head: 'wire', width: 18 },
    { head: 'as it is', width: 16 },
    { head: 'eager', width: 16 },
    { head: 'won back', width: 11 },
    { head: 'first tool', width: 18 },
  ]
  return bareTable(
    columns,
    rows.map((row) => [
      `   ${titleOf(row.loop)}${slowMark(row, ownTimes)}`,
      row.wire,
      wallOf(row.plain),
      wallOf(row.eager),
      styleText('bold', row.wonBack === null ? NONE : percent(row.wonBack)),
      firstToolText(row),
    ]),
  )
}

/** The mark of a loop that itself takes much time. */
export function slowMark({ loop, wire }: Pick<DropInRow, 'loop' | 'wire'>, ownTimes: readonly OwnTime[]): string {
  return ownTimes.some((one) => one.loop === loop && one.wire === wire && one.isSlow) ? ' *' : ''
}

/** `1,310 → 2`: as it is, and eager. */
export function firstToolText({ plain, eager }: DropInRow): string {
  return [...(plain ? [precise(plain.firstToolMs)] : []), precise(eager?.firstToolMs)].join(' → ')
}

function wallOf(figures: LoopFigures | null): string {
  if (!figures) return NONE
  if (figures.wallMs === null) return styleText('red', 'failed')
  return `${milliseconds(figures.wallMs)} ${styleText('dim', `${ratio(figures.ratioToBound)}×`)}`
}

function costTable({ ownTimes, cpu }: DropIns): string {
  const columns = [
    { head: '', width: 45 },
    { head: 'wire', width: 18 },
    { head: '× bound', width: 10 },
    ...(cpu.length > 0
      ? [
          { head: 'CPU, ms', width: 16 },
          { head: 'itself', width: 9 },
          { head: 'eager', width: 9 },
          { head: 'limit', width: 11 },
        ]
      : []),
  ]
  return bareTable(
    columns,
    ownTimes.map((own) => {
      const its = cpu.find(({ loop, wire }) => loop === own.loop && wire === own.wire)
      return [
        `   ${titleOf(own.loop)}${slowMark(own, ownTimes)}`,
        own.wire,
        ratio(own.ratioToBound),
        ...(cpu.length > 0 ? cpuCells(its) : []),
      ]
    }),
  )
}

function cpuCells(cpu: LoopCpu | undefined): readonly string[] {
  if (!cpu) return [NONE, NONE, NONE, NONE]
  const { plainMs, eagerMs, self, ratio: part, limit, isMet } = cpu
  return [
    `${milliseconds(plainMs)} → ${milliseconds(eagerMs)}`,
    ratio(self.median),
    ratio(part.median),
    `≤ ${ratio(limit)} ${isMet ? styleText('green', '✓') : styleText('red', '✗')}`,
  ]
}
