import type { Axis } from '../../src/geometry/axis.ts'
import type { Row } from '../../src/geometry/rows.ts'
import type { View } from '../../src/geometry/views.ts'
import type { Call, Response, Run } from '../../src/model/run.ts'

/** What the pointer is over. */
export interface Pointed {
  readonly x: number
  readonly y: number
  readonly row: Row
  readonly part: { readonly call: Call } | { readonly response: Response }
}

/** What all rows of the timeline get. */
export interface BarProps {
  readonly run: Run
  readonly axis: Axis
  readonly now: number
  readonly view: View
  readonly narrow: boolean
  readonly selected: string | undefined
  readonly onSelect: (at: string) => void
  readonly onPoint: (pointed: Pointed) => void
}

const EFFECTS: ReadonlySet<string | undefined> = new Set(['read', 'idempotent', 'reversible', 'external', 'calls'])

/** The class that gives a bar its colour. */
export const effectOf = ({ effect = '' }: Call): string => (EFFECTS.has(effect) ? effect : 'unknown')
