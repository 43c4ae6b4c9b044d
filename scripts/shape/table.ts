/** Prints the figures as a table, and in words. */

import { FIGURE_NAMES, FIGURES, type Shape } from './figures.ts'
import { type HeldFigures, shown } from './held.ts'

/** A figure without a limit has `printed` in its place. */
export function shapeTable(shape: Shape, held: HeldFigures): string {
  const rows = FIGURE_NAMES.map((name) => {
    const { aim, isHeld } = FIGURES[name]
    const limit = held[name] === undefined ? '–' : shown(held[name])
    return row(name, shown(shape[name].value), isHeld ? limit : 'printed', aim === undefined ? '' : shown(aim))
  })
  return [row('figure', 'now', 'held', 'aim'), ...rows].join('\n')
}

const row = (name: string, now: string, held: string, aim: string): string =>
  `${name.padEnd(20)}${now.padStart(8)}${held.padStart(9)}${aim.padStart(8)}`.trimEnd()

/** What each figure counts. */
export const meanings = (): string => FIGURE_NAMES.map((name) => `  ${name}: ${FIGURES[name].counts}`).join('\n')
