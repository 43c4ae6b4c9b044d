/** The limit of each figure. A change that raises one says why in its message. */

import { readFileSync, writeFileSync } from 'node:fs'
import { FIGURES, type Figure, type Shape } from './figures.ts'

export type Held = Readonly<Record<string, number>>

const FILE = 'scripts/shape/held.json'

export const readHeld = (): Held => JSON.parse(readFileSync(FILE, 'utf8'))

export const writeHeld = (held: Held): void => writeFileSync(FILE, `${JSON.stringify(held, null, 2)}\n`)

/** No limit is raised. A figure without a limit gets its current value. */
export function tightened(held: Held, shape: Shape): Held {
  return Object.fromEntries(FIGURES.map((name) => [name, Math.min(held[name] ?? Infinity, shape[name].value)]))
}

/** The reasons why the check fails, one line each. */
export function complaints(held: Held, shape: Shape): readonly string[] {
  const strangers = Object.keys(held).filter((name) => !FIGURES.some((one) => one === name))
  return [
    ...FIGURES.flatMap((name) => complaint(name, held[name], shape)),
    ...strangers.map((name) => `${FILE} has a limit for ${name}, which is not a figure`),
  ]
}

function complaint(name: Figure, limit: number | undefined, shape: Shape): readonly string[] {
  const { value, places } = shape[name]
  if (limit === undefined) return [`${name}: ${FILE} has no limit (--write sets it to the current value)`]
  if (value <= limit) return []
  const hint = places.length > 0 ? ` (--list ${name} lists what is counted)` : ''
  return [`${name}: ${shown(value)}, but the limit is ${shown(limit)}${hint}`]
}

/** A line for each figure. */
export function table(held: Held, shape: Shape): string {
  const row = (name: string, now: string, limit: string) => `${name.padEnd(16)}${now.padStart(8)}${limit.padStart(8)}`
  const limitOf = (name: Figure) => (held[name] === undefined ? '–' : shown(held[name]))
  return [
    row('figure', 'now', 'limit'),
    ...FIGURES.map((name) => row(name, shown(shape[name].value), limitOf(name))),
  ].join('\n')
}

/** `14,440`, `44.2` */
const shown = (value: number): string => value.toLocaleString('en')
