/** What one run took. */

import type { StepSavings } from '@meanwhile/eager-tools'

/** All in milliseconds. What nobody can know of a run is absent: of a real endpoint that is all its server alone could tell. */
export interface Sample {
  /** From just before the run to its result. */
  readonly wallMs: number
  readonly boundMs?: number
  /** The most that eager can save here against parallel. */
  readonly possibleMs?: number
  /** Last argument byte written → tool entered, in call order. */
  readonly lagMs: readonly number[]
  /** Stream and tools done → the next request arrived, in the mean. Absent without a second request. */
  readonly turnaroundMs?: number
  /** How many tools were entered before their stream's end. */
  readonly early: number
  /** What an eager run says itself that it has saved against parallel, and how long its steps took by its own account. */
  readonly predicted?: { readonly savedMs: number; readonly stepsMs: number }
  /** What that is made of: its steps with calls. */
  readonly ledger?: readonly StepSavings[]
  /** User time of the contestant's process, other runs of the time included. */
  readonly cpuUserMs: number
  /** How late the server's latest write was. */
  readonly latenessMs: number
  readonly timeline: Timeline
}

/** The run as a picture: milliseconds from its start. */
export interface Timeline {
  readonly streams: readonly { readonly begin: number; readonly end: number; readonly tokens: readonly number[] }[]
  readonly calls: readonly {
    readonly id: string
    readonly argsDone: number
    readonly entered: number
    readonly settled: number
  }[]
  /** When the run could have ended; absent if nobody knows. */
  readonly bound?: number
  readonly end: number
}

/** A run that does not count: not every tool ran exactly once with the right arguments, or the answer is not the script's. */
export class RunFailedError extends Error {
  override readonly name = 'RunFailedError'
}
