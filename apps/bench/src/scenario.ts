/** A scenario to measure: the model's responses, turn by turn, and the tools it calls. */

import type { Pace } from '@meanwhile/assemble/testing'
import type { Effect } from '@meanwhile/core'
import type { ScriptedReply, WireName } from '@meanwhile/harness/server'
import type { z } from 'zod'

export interface Scenario {
  /** Unique among the scenarios that are measured together. */
  readonly id: string
  /** A short title. */
  readonly title: string
  /** What the model sends and how long the tools take. */
  readonly shape: string
  readonly timing: Timing
  readonly tools: readonly ScenarioTool[]
  /** The calls of each response, in call order. The last response is the answer, and has none. */
  readonly turns: readonly (readonly ScenarioCall[])[]
  readonly script: readonly ScriptedReply[]
  /** The text of the model's answer. */
  readonly answer: string
  /** The speed of scripted responses; absent if they are sent as fast as possible, or have their own times. */
  readonly pace?: Pace
  /** The wires it can run on. Default: all. */
  readonly wires?: readonly WireName[]
}

/** When the bytes are sent: at a pace, as fast as possible (CPU time is then what counts), as recorded, or by a real model. */
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
  /** For a recorded response: the write with the last byte of the arguments, counted from 0. */
  readonly lastWrite?: number
}

/** All calls, those of the first response first. */
export function callsOf({ turns }: Pick<Scenario, 'turns'>): readonly ScenarioCall[] {
  return turns.flat()
}

/**
 * Whether eager tools may start each call of a turn before its response has ended: nothing external, and nothing after a call that
 * is more than a read.
 */
export function mayStartEarly({ tools }: Pick<Scenario, 'tools'>, calls: readonly ScenarioCall[]): readonly boolean[] {
  const effects = calls.map((call) => tools.find(({ name }) => name === call.tool)?.effect ?? 'external')
  return effects.map((effect, at) => effect !== 'external' && effects.slice(0, at).every((before) => before === 'read'))
}
