/** The interface of everything that is measured: it performs a scenario's tasks. */

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

/** The URL of a model endpoint, and how to reach it if not by the global `fetch`. */
export interface Place {
  readonly url: string
  readonly fetch?: typeof fetch
}

/** The outcome of a run. Times are on the harness's clock, in milliseconds. */
export interface Ran {
  readonly text: string
  /** The savings that eager tools report. */
  readonly savings?: AgentResult['savings']
  readonly tools: readonly ToolRun[]
  readonly began: number
  readonly ended: number
  /** User time of the contestant's process, including other runs at the same time. */
  readonly cpuUserMs: number
}

/** Performs the tasks once. Rejects with the error, and with the signal's reason when it aborts. */
export type Contestant = (subject: Subject, place: Place, signal: AbortSignal) => Promise<Ran>

export const PROMPT = 'Do the tasks.'
