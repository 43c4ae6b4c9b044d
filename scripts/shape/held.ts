/** What each figure may be at the most: what it was when that was last written down. */

import { readFileSync, writeFileSync } from 'node:fs'
import { FIGURE_NAMES, FIGURES, type FigureName, type Measured, type Shape } from './figures.ts'

export interface Held {
  readonly value: number
  /** Why it is more than it was once. Gone when it is no more than that again. */
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

/** Never above what is held, unless there is a reason. A figure that is held nowhere yet is held as it is. */
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

/** What fails the check: a line each. */
export function complaints(held: HeldFigures, shape: Shape): readonly string[] {
  const strangers = Object.keys(held).filter((name) => !HELD_NAMES.some((one) => one === name))
  return [
    ...HELD_NAMES.flatMap((name) => complaint(name, held[name], shape[name])),
    ...strangers.map((name) => `${FILE} holds ${name}, and there is no such figure`),
  ]
}

function complaint(name: FigureName, held: Held | undefined, { value, places }: Measured): readonly string[] {
  if (!held) return [`${name}: ${FILE} does not say what is held (--write holds what there is now)`]
  if (value <= held.value) return []
  const hint = places.length > 0 ? ` (--list ${name} shows what is counted)` : ''
  return [`${name}: ${shown(value)}, but at most ${shown(held.value)} is held${hint}`]
}

/** The figures that could be held lower than they are. */
export function lowerable(held: HeldFigures, shape: Shape): readonly FigureName[] {
  return HELD_NAMES.filter((name) => shape[name].value < (held[name]?.value ?? 0))
}

/** `14,440`, `44.2` */
export const shown = (value: number): string => value.toLocaleString('en')
