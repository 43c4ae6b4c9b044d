import type { Axis } from '../../src/geometry/axis.ts'
import type { View } from '../../src/geometry/views.ts'
import type { Call, Run } from '../../src/model/run.ts'
import type { Pointed } from './timeline.tsx'

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
