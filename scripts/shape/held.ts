/** The limit of each figure. A change that raises one says why in its message. */

import { readFileSync, writeFileSync } from 'node:fs'
import { FIGURE_NAMES, FIGURES, type FigureName, type Measured, type Shape } from './figures.ts'

/** By the name of a figure. */
export type HeldFigures = Readonly<Record<string, number>>

const FILE = 'scripts/shape/held.json'

export const readHeld = (): HeldFigures => JSON.parse(readFileSync(FILE, 'utf8'))

export const writeHeld = (held: HeldFigures): void => writeFileSync(FILE, `${JSON.stringify(held, null, 2)}\n`)

const HELD_NAMES = FIGURE_NAMES.filter((name) => FIGURES[name].isHeld)

/** No limit is raised. A figure without a limit gets its current value. */
export function tightened(held: HeldFigures, shape: Shape): HeldFigures {
  return Object.fromEntries(
    HELD_NAMES.map((name) => [name, Math.min(held[name] ?? Number.POSITIVE_INFINITY, shape[name].value)] as const),
  )
}

/** The reasons why the check fails, one line each. */
export function complaints(held: HeldFigures, shape: Shape): readonly string[] {
  const strangers = Object.keys(held).filter((name) => !HELD_NAMES.some((one) => one === name))
  return [
    ...HELD_NAMES.flatMap((name) => complaint(name, held[name], shape[name])),
    ...strangers.map((name) => `${FILE} has a limit for ${name}, which is not a figure`),
  ]
}

function complaint(name: FigureName, limit: number | undefined, { value, places }: Measured): readonly string[] {
  if (limit === undefined) return [`${name}: ${FILE} has no limit (--write sets it to the current value)`]
  if (value <= limit) return []
  const hint = places.length > 0 ? ` (--list ${name} lists what is counted)` : ''
  return [`${name}: ${shown(value)}, but the limit is ${shown(limit)}${hint}`]
}

/** The figures that are below their limits. */
export function lowerable(held: HeldFigures, shape: Shape): readonly FigureName[] {
  return HELD_NAMES.filter((name) => shape[name].value < (held[name] ?? 0))
}

/** `14,440`, `44.2` */
export const shown = (value: number): string => value.toLocaleString('en')
