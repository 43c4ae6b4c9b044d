/** The figures of a scenario on a wire in one way. */

import type { StepSavings } from '@meanwhile/eager-tools'
import type { WireName } from '@meanwhile/harness/server'
import type { Way } from './modes.ts'
import type { Timeline } from './sample.ts'
import type { Timing } from './scenario.ts'

/** Medians over the runs that count, in milliseconds unless stated otherwise; `null` if there is no value. */
export interface Entry {
  readonly scenario: string
  readonly title: string
  readonly shape: string
  readonly timing: Timing
  readonly wire: WireName
  readonly mode: Way
  /** How many runs count. */
  readonly runs: number
  readonly wallMs: number | null
  readonly wallMsRange: readonly [min: number, max: number] | null
  readonly boundMs: number | null
  /** The wall-clock of each run over its own bound. */
  readonly ratioToBound: number | null
  /** Against the parallel run of the same round; negative: it took longer. */
  readonly savedMs: number | null
  readonly savedMsRange: readonly [min: number, max: number] | null
  /** The most that starting early could have saved, according to this run's own stream. */
  readonly possibleSavingMs: number | null
  /** What eager runs report, by the durations and times they measured (`result.savings`). */
  readonly predictedSavedMs: number | null
  /** The difference to the measured saving of the same round, as a share of the time of the steps with calls. */
  readonly predictionError: number | null
  /** The cost of eager tools where nothing starts early: as a share of the wall-clock of the parallel run of the same round. */
  readonly overhead: number | null
  /** Whether the limits are met; `null` if that cannot be decided, because there is no saving or no run without one. */
  readonly holds: { readonly prediction: boolean | null; readonly overhead: boolean | null }
  /** Last argument byte written → tool entered: `first` is for each run's first call, the others for all calls of all runs. */
  readonly dispatchLagMs: {
    readonly first: number
    readonly p50: number
    /** Nearest rank: with fewer than 100 calls the latest. */
    readonly p99: number
    readonly max: number
  } | null
  /** From the end of stream and tools to the arrival of the next request. */
  readonly turnaroundMs: number | null
  /** Calls of one run whose tool was entered before the stream's end. */
  readonly startedEarly: number | null
  /** User time of the process; for scenarios that run by themselves. */
  readonly cpuUserMs: number | null
  /** The latest write of the server in any of the runs that count. */
  readonly latestWriteMs: number | null
  /**
   * Runs in which the server wrote late: dropped and repeated; dropped without repeating, because others of the same entry were in
   * time; and kept, because none was.
   */
  readonly late: { readonly repeated: number; readonly dropped: number; readonly kept: number }
  /** Why runs failed. They are not in the medians. */
  readonly failed: readonly string[]
}

/** An entry, and a run for its picture. */
export interface Cell {
  readonly entry: Entry
  /** The run whose wall-clock is nearest to the median. */
  readonly typical?: Timeline
  /** The savings that this run reports, step by step. */
  readonly ledger?: readonly StepSavings[]
}
