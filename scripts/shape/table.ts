/** Prints the figures as a table, and in words. */

import { FIGURE_NAMES, FIGURES, type Shape } from './figures.ts'
import { type HeldFigures, shown } from './held.ts'

/** A figure without a limit has `printed` in its place. */
export function shapeTable(shape: Shape, held: HeldFigures): string {
  const rows = FIGURE_NAMES.map((name) => {
    const { aim, isHeld } = FIGURES[name]
    const { value, note } = shape[name]
    const limit = held[name] ? shown(held[name].value) : '–'
    return row(name, shown(value), isHeld ? limit : 'printed', aim === undefined ? '' : shown(aim), note)
  })
  const reasons = Object.entries(held).flatMap(([name, { raised = [] }]) =>
    raised.map(({ from, to, because }) => `${name} was raised from ${shown(from)} to ${shown(to)}: ${because}`),
  )
  return [row('figure', 'now', 'held', 'aim'), ...rows, ...reasons].join('\n')
}

function row(name: string, now: string, held: string, aim: string, note?: string): string {
  const cells = `${name.padEnd(20)}${now.padStart(8)}${held.padStart(9)}${aim.padStart(8)}`
  return `${cells}${note === undefined ? '' : `   ${note}`}`.trimEnd()
}

/** What each figure counts. */
export const meanings = (): string => FIGURE_NAMES.map((name) => `  ${name}: ${FIGURES[name].counts}`).join('\n')
