/** What is run and measured: what a model says, turn by turn, and the tools it calls. */

import type { Effect } from '@meanwhile/core'
import type { Pace } from '@meanwhile/core/testing'
import type { ScriptedReply, WireName } from '@meanwhile/harness/server'
import type { z } from 'zod'

export interface Scenario {
  /** Unique among those that are measured together. */
  readonly id: string
  /** In a few words. */
  readonly title: string
  /** What the model sends and how long the tools take. */
  readonly shape: string
  readonly timing: Timing
  readonly tools: readonly ScenarioTool[]
  /** The calls of each response, in call order. The last response is the answer, and has none. */
  readonly turns: readonly (readonly ScenarioCall[])[]
  readonly script: readonly ScriptedReply[]
  /** What the model says in the end. */
  readonly answer: string
  /** The speed of scripted responses; absent where they come as fast as they go, or have times of their own. */
  readonly pace?: Pace
  /** The wires it can be run on. Default: every one. */
  readonly wires?: readonly WireName[]
}

/** When the bytes come: at a pace, as fast as they go (CPU time is then what counts), as they were recorded, or from a real model. */
export type Timing = 'paced' | 'at-once' | 'recorded' | 'live'

export interface ScenarioTool {
  readonly name: string
  readonly description?: string
  readonly effect: Effect
  readonly input: z.ZodType
}

export interface ScenarioCall {
  /** Unique in the scenario. */
  readonly id: string
  readonly tool: string
  readonly input: unknown
  readonly toolMs: number
  /** Of a recorded response: which of its writes brings the last byte of the arguments, counted from 0. */
  readonly lastWrite?: number
}

/** All calls, of the first response first. */
export function callsOf({ turns }: Pick<Scenario, 'turns'>): readonly ScenarioCall[] {
  return turns.flat()
}

/**
 * Whether eager tools may start each call of a turn before its response has ended: nothing external, and nothing behind a call that
 * is more than a read.
 */
export function mayStartEarly({ tools }: Pick<Scenario, 'tools'>, calls: readonly ScenarioCall[]): readonly boolean[] {
  const effects = calls.map((call) => tools.find(({ name }) => name === call.tool)?.effect ?? 'external')
  return effects.map((effect, at) => effect !== 'external' && effects.slice(0, at).every((before) => before === 'read'))
}
