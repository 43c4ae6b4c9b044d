/** The ways to do a scenario's tasks: three of ours, the least one can write, the libraries one would take instead, and their loops with drop-ins of ours. */

import type { Middleware } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { LOOP_WAYS, type LoopWay, loopRun } from './drop-ins/loops.ts'

export type Mode = 'sequential' | 'parallel' | 'eager' | 'floor'

export const MODES: readonly Mode[] = ['sequential', 'parallel', 'eager', 'floor']

/** Libraries of others, by the name of their package. */
export type PeerName = 'ai' | '@openai/agents' | 'langchain' | '@mastra/core'

export const PEERS: readonly PeerName[] = ['ai', '@openai/agents', 'langchain', '@mastra/core']

/** Ours and the libraries of others, which are compared with one another. */
export type Contender = Mode | PeerName

export const CONTENDERS: readonly Contender[] = [...MODES, ...PEERS]

export type Way = Contender | LoopWay

export const WAYS: readonly Way[] = [...CONTENDERS, ...LOOP_WAYS]

export function isMode(way: Way): way is Mode {
  return MODES.some((mode) => mode === way)
}

/** What ours and other libraries are compared with. */
export const BASELINE: Mode = 'parallel'

/** What a way is compared with. */
export function baselineOf(way: Way): Way {
  return loopRun(way)?.loop.name ?? BASELINE
}

/** Whether a way starts tools before the response has ended, where they may. */
export function startsEarly(way: Way): boolean {
  return way === 'eager' || way === 'floor' || loopRun(way)?.isEager === true
}

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
