/** The ways to do a scenario's tasks: three modes of agents, a bare loop, other libraries, and their loops with our drop-ins. */

import type { Middleware } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { LOOP_WAYS, type LoopWay, loopRun } from './drop-ins/loops.ts'

export type Mode = 'sequential' | 'parallel' | 'eager' | 'floor'

export const MODES: readonly Mode[] = ['sequential', 'parallel', 'eager', 'floor']

/** Other libraries, by the name of their package. */
export type PeerName = 'ai' | '@openai/agents' | 'langchain' | '@mastra/core' | '@librechat/agents'

export const PEERS: readonly PeerName[] = ['ai', '@openai/agents', 'langchain', '@mastra/core', '@librechat/agents']

/** Our modes and the other libraries, which are compared with one another. */
export type Contender = Mode | PeerName

export const CONTENDERS: readonly Contender[] = [...MODES, ...PEERS]

export type Way = Contender | LoopWay

export const WAYS: readonly Way[] = [...CONTENDERS, ...LOOP_WAYS]

export function isMode(way: Way): way is Mode {
  return MODES.some((mode) => mode === way)
}

/** The mode that all others are compared with. */
export const BASELINE: Mode = 'parallel'

/** The way that this way is compared with. */
export function baselineOf(way: Way): Way {
  const { loop } = loopRun(way) ?? {}
  return loop?.of ?? loop?.name ?? BASELINE
}

/** Whether a way starts tools before the response has ended, if they may start. */
export function startsEarly(way: Way): boolean {
  const { loop, isEager = false } = loopRun(way) ?? {}
  return way === 'eager' || way === 'floor' || (isEager && loop?.adds === undefined)
}

export const MODE_TITLES: Readonly<Record<Mode, string>> = {
  sequential: 'one by one',
  parallel: 'parallel',
  eager: 'eager',
  floor: 'bare loop',
}

/** The agent options of each mode: the only difference between them. The floor is not an agent. */
export const MODE_OPTIONS: Readonly<
  Record<Exclude<Mode, 'floor'>, { readonly toolConcurrency?: number; readonly middleware?: readonly Middleware[] }>
> = {
  sequential: { toolConcurrency: 1 },
  parallel: {},
  eager: { middleware: [eagerTools()] },
}
