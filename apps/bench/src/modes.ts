/** The ways to do a scenario's tasks: three of ours, the least one can write, and the libraries one would take instead. */

import type { Middleware } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'

export type Mode = 'sequential' | 'parallel' | 'eager' | 'floor'

export const MODES: readonly Mode[] = ['sequential', 'parallel', 'eager', 'floor']

/** Libraries of others, by the name of their package. */
export type PeerName = 'ai' | '@openai/agents' | 'langchain' | '@mastra/core'

export const PEERS: readonly PeerName[] = ['ai', '@openai/agents', 'langchain', '@mastra/core']

export type Way = Mode | PeerName

export const WAYS: readonly Way[] = [...MODES, ...PEERS]

export function isMode(way: Way): way is Mode {
  return MODES.some((mode) => mode === way)
}

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
