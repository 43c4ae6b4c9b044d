/** The measurements of one run. */

import type { StepSavings } from '@meanwhile/eager-tools'

/** All in milliseconds. Unknown values are absent: for a real endpoint, everything that only its server knows. */
export interface Sample {
  /** From just before the run to its result. */
  readonly wallMs: number
  readonly boundMs?: number
  /** The most that eager can save here against parallel. */
  readonly possibleMs?: number
  /** Last argument byte written → tool entered, in call order. */
  readonly lagMs: readonly number[]
  /** From the end of stream and tools to the arrival of the next request, on average. Absent without a second request. */
  readonly turnaroundMs?: number
  /** How many tools were entered before their stream's end. */
  readonly early: number
  /** The saving that an eager run reports against parallel, and how long its steps took by its own report. */
  readonly predicted?: { readonly savedMs: number; readonly stepsMs: number }
  /** The details: its steps with calls. */
  readonly ledger?: readonly StepSavings[]
  /** User time of the contestant's process, including other runs at the same time. */
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
  /** When the run could have ended; absent if unknown. */
  readonly bound?: number
  readonly end: number
}

/** A run that does not count: not every tool ran exactly once with the right arguments, or the answer is not the script's. */
export class RunFailedError extends Error {
  override readonly name = 'RunFailedError'
}
