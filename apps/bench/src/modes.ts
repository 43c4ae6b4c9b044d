/** The ways to run the tools of a step: three of ours, and the least one can write. */

import type { Middleware } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'

export type Mode = 'sequential' | 'parallel' | 'eager' | 'floor'

export const MODES: readonly Mode[] = ['sequential', 'parallel', 'eager', 'floor']

/** What everything is compared with. */
export const BASELINE: Mode = 'parallel'

export const MODE_TITLES: Readonly<Record<Mode, string>> = {
  sequential: 'one by one',
  parallel: 'parallel',
  eager: 'eager',
  floor: 'bare loop',
}

/** What a mode means for an agent: nothing else tells these apart. The floor is no agent. */
export const MODE_OPTIONS: Readonly<
  Record<Exclude<Mode, 'floor'>, { readonly toolConcurrency?: number; readonly middleware?: readonly Middleware[] }>
> = {
  sequential: { toolConcurrency: 1 },
  parallel: {},
  eager: { middleware: [eagerTools()] },
}
