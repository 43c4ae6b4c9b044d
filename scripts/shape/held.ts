/** The limit of each figure: its value when the limits were last written. */

import { readFileSync, writeFileSync } from 'node:fs'
import { FIGURE_NAMES, FIGURES, type FigureName, type Measured, type Shape } from './figures.ts'

export interface Held {
  readonly value: number
  /** Why the limit was raised. Removed when the figure is back at its old value. */
  readonly raised?: readonly Raise[]
}

interface Raise {
  readonly from: number
  readonly to: number
  readonly because: string
}

/** By the name of a figure. */
export type HeldFigures = Readonly<Record<string, Held>>

const FILE = 'scripts/shape/held.json'

export const readHeld = (): HeldFigures => JSON.parse(readFileSync(FILE, 'utf8'))

export const writeHeld = (held: HeldFigures): void => writeFileSync(FILE, `${JSON.stringify(held, null, 2)}\n`)

const HELD_NAMES = FIGURE_NAMES.filter((name) => FIGURES[name].isHeld)

/** Never above the limit, unless there is a reason. A figure without a limit gets its current value. */
export function tightened(held: HeldFigures, shape: Shape, reasonToRaise?: string): HeldFigures {
  return Object.fromEntries(
    HELD_NAMES.map((name) => [name, next(held[name], shape[name].value, reasonToRaise)] as const),
  )
}

function next(held: Held | undefined, value: number, reason: string | undefined): Held {
  if (!held) return { value }
  if (value > held.value && reason === undefined) return held
  const raised = (held.raised ?? []).filter(({ from }) => from < value)
  const all =
    value > held.value && reason !== undefined ? [...raised, { from: held.value, to: value, because: reason }] : raised
  return { value, ...(all.length > 0 && { raised: all }) }
}

/** The reasons why the check fails, one line each. */
export function complaints(held: HeldFigures, shape: Shape): readonly string[] {
  const strangers = Object.keys(held).filter((name) => !HELD_NAMES.some((one) => one === name))
  return [
    ...HELD_NAMES.flatMap((name) => complaint(name, held[name], shape[name])),
    ...strangers.map((name) => `${FILE} has a limit for ${name}, which is not a figure`),
  ]
}

function complaint(name: FigureName, held: Held | undefined, { value, places }: Measured): readonly string[] {
  if (!held) return [`${name}: ${FILE} has no limit (--write sets it to the current value)`]
  if (value <= held.value) return []
  const hint = places.length > 0 ? ` (--list ${name} lists what is counted)` : ''
  return [`${name}: ${shown(value)}, but the limit is ${shown(held.value)}${hint}`]
}

/** The figures that are below their limits. */
export function lowerable(held: HeldFigures, shape: Shape): readonly FigureName[] {
  return HELD_NAMES.filter((name) => shape[name].value < (held[name]?.value ?? 0))
}

/** `14,440`, `44.2` */
export const shown = (value: number): string => value.toLocaleString('en')
