/** The figures of one measurement, or of several that measured different rows. */

import { readFileSync } from 'node:fs'
import type { Environment } from '../environment.ts'
import type { ServerCost } from './measure-server.ts'
import type { Plan } from './plan.ts'
import { SETUP_NAMES, type SetUpName } from './setups.ts'

/** What was measured at once, and on which machine. */
export interface Measured {
  readonly plan: Plan
  readonly machine: Environment
}

export interface Figures extends ServerCost {
  readonly measured: readonly Measured[]
}

/** The figures with the rows of an earlier measurement that this one has not measured. */
export function withEarlier(now: Figures, before: Figures): Figures {
  return {
    version: now.version,
    loads: joined(now.loads, before.loads, ({ name, turns }) => [placeOf(name), turns]),
    lengths: joined(now.lengths, before.lengths, ({ name, messages }) => [placeOf(name), messages]),
    readers: joined(now.readers, before.readers, ({ name, isElsewhere, readers }) => [
      placeOf(name),
      Number(isElsewhere),
      readers,
    ]),
    durable: joined(now.durable, before.durable, ({ kind, workers }) => [workers, kind === 'job' ? 0 : 1]),
    measured: [...before.measured, ...now.measured],
  }
}

function placeOf(name: SetUpName): number {
  return SETUP_NAMES.indexOf(name)
}

/** Both, in the order of their places. A new row replaces an old one with the same place. */
function joined<Row>(
  now: readonly Row[],
  before: readonly Row[],
  placeIn: (row: Row) => readonly number[],
): readonly Row[] {
  const rows = new Map([...before, ...now].map((row) => [placeIn(row).join(), row]))
  return [...rows.values()].sort((a, b) => compared(placeIn(a), placeIn(b)))
}

function compared(a: readonly number[], b: readonly number[]): number {
  return a.map((place, index) => place - (b[index] ?? 0)).find((difference) => difference !== 0) ?? 0
}

/** Reads figures that this command has written. */
export function figuresIn(file: string): Figures {
  const found: unknown = JSON.parse(readFileSync(file, 'utf8'))
  if (!isFigures(found)) throw new TypeError(`${file} has no figures of bench server`)
  return found
}

function isFigures(value: unknown): value is Figures {
  const found: Readonly<Record<string, unknown>> = Object(value)
  return ['loads', 'lengths', 'readers', 'durable', 'measured'].every((name) => Array.isArray(found[name]))
}
