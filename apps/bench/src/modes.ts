/** The three ways to run the tools of a step. */

import type { Middleware } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'

export type Mode = 'sequential' | 'parallel' | 'eager'

export const MODES: readonly Mode[] = ['sequential', 'parallel', 'eager']

/** What everything is compared with. */
export const BASELINE: Mode = 'parallel'

export const MODE_TITLES: Readonly<Record<Mode, string>> = {
  sequential: 'one by one',
  parallel: 'parallel',
  eager: 'eager',
}

/** What a mode means for an agent: nothing else tells the modes apart. */
export const MODE_OPTIONS: Readonly<
  Record<Mode, { readonly toolConcurrency?: number; readonly middleware?: readonly Middleware[] }>
> = {
  sequential: { toolConcurrency: 1 },
  parallel: {},
  eager: { middleware: [eagerTools()] },
}
