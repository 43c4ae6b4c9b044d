/** Who does a scenario's tasks: the seam between what is measured and how it is measured. */

import type { AgentResult } from '@meanwhile/core'
import type { WireName } from '@meanwhile/harness/server'
import type { Way } from './modes.ts'
import type { Scenario } from './scenario.ts'
import type { ToolRun } from './tools.ts'

/** What is run: one scenario, on one wire, in one way. */
export interface Subject {
  readonly scenario: Scenario
  readonly wire: WireName
  readonly mode: Way
}

/** Where a model endpoint is, and how it is reached if not by the global `fetch`. */
export interface Place {
  readonly url: string
  readonly fetch?: typeof fetch
}

/** What became of a run. Times are the harness's clock, in milliseconds. */
export interface Ran {
  readonly text: string
  /** What eager tools say of themselves. */
  readonly savings?: AgentResult['savings']
  readonly tools: readonly ToolRun[]
  readonly began: number
  readonly ended: number
  /** User time of the contestant's process, other runs of the time included. */
  readonly cpuUserMs: number
}

/** Does the tasks once. Rejects with what went wrong, and with the signal's reason when it aborts. */
export type Contestant = (subject: Subject, place: Place, signal: AbortSignal) => Promise<Ran>

export const PROMPT = 'Do the tasks.'
