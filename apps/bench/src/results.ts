/** What comes of a bench: one entry per scenario, wire and way, and what is to be known of them. */

import type { StepSavings } from '@meanwhile/eager-tools'
import type { WireName } from '@meanwhile/harness/server'
import type { BenchOptions } from './cli.ts'
import type { DropIns } from './drop-ins/measure-drop-ins.ts'
import type { Environment } from './environment.ts'
import type { FaultCell } from './faults/matrix.ts'
import type { Way } from './modes.ts'
import type { PeerState } from './peers/install.ts'
import type { Timeline } from './sample.ts'
import type { Timing } from './scenario.ts'
import type { TransportLag } from './transport-lag.ts'

/** Medians over the runs that count, in milliseconds, where not said otherwise; `null` where there is nothing to tell. */
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
  /** Of each run its wall-clock over its own bound. */
  readonly ratioToBound: number | null
  /** Against the parallel run of the same round; negative: it took longer. */
  readonly savedMs: number | null
  readonly savedMsRange: readonly [min: number, max: number] | null
  /** The most that starting early could have saved, by this run's own stream. */
  readonly possibleSavingMs: number | null
  /** What eager runs say themselves, by the durations and times they saw (`result.savings`). */
  readonly predictedSavedMs: number | null
  /** How far that is from what was measured in the same round, of the time of the steps with calls. */
  readonly predictionError: number | null
  /** What having eager tools costs where nothing starts early: of the wall-clock of the parallel run of the same round. */
  readonly overhead: number | null
  /** Whether what is promised holds; `null` where it says nothing, for want of a saving or of runs without one. */
  readonly holds: { readonly prediction: boolean | null; readonly overhead: boolean | null }
  /** Last argument byte written → tool entered: `first` of each run's first call, the others of all calls of all runs. */
  readonly dispatchLagMs: {
    readonly first: number
    readonly p50: number
    /** Nearest rank: of fewer than 100 calls the latest. */
    readonly p99: number
    readonly max: number
  } | null
  /** Stream and tools done → the next request arrived. */
  readonly turnaroundMs: number | null
  /** Calls whose tool was entered before the stream's end, of one run. */
  readonly startedEarly: number | null
  /** User time of the process; for scenarios that run alone. */
  readonly cpuUserMs: number | null
  /** The latest write of the server in any of the runs that count. */
  readonly latestWriteMs: number | null
  /**
   * Runs in which the server wrote late: thrown away and made again; thrown away for good, because others of the same entry were in
   * time; and kept, because none was.
   */
  readonly late: { readonly repeated: number; readonly dropped: number; readonly kept: number }
  /** Why runs failed. They are not in the medians. */
  readonly failed: readonly string[]
}

/** All there is to tell. */
export interface Results {
  readonly environment: Environment
  readonly options: BenchOptions
  /** What the way from server to reader takes by itself. */
  readonly transportLagMs: TransportLag | null
  /** The most memory this process held. */
  readonly peakRssMb: number
  readonly cells: readonly Cell[]
  readonly faults?: readonly FaultCell[]
  /** What is to be known of these scenarios in particular: where they come from, what was assumed. */
  readonly remarks?: readonly string[]
  readonly peers?: readonly PeerState[]
  readonly dropIns?: DropIns
}

/** An entry, and a run to draw it by. */
export interface Cell {
  readonly entry: Entry
  /** The run whose wall-clock is nearest to the median. */
  readonly typical?: Timeline
  /** What that run says itself that it has saved, step by step. */
  readonly ledger?: readonly StepSavings[]
}

/** What the figures of the JSON mean: for who reads it without the report. */
export const UNITS = {
  wallMs: 'milliseconds from the call of agent.run to its result; median',
  boundMs: 'the shortest that run could have been, by what its server really sent; median',
  ratioToBound: 'wallMs over boundMs of each run; median',
  savedMs:
    'milliseconds less than parallel tools in the same round, or than the same loop without its drop-in, negative if more; median of the differences',
  predictedSavedMs: 'what the eager runs say themselves that they have saved (result.savings); median',
  predictionError:
    'predictedSavedMs less savedMs of the same round, over the time of the steps with calls; median, without its sign',
  overhead:
    'what eager tools add to the wall-clock where nothing started early, over that of the parallel run of the same round; median',
  holds:
    'prediction: off by 5 % at the most; overhead: 3 % at the most; null where there is nothing to save, something started early, or the model speaks as fast as it can',
  dispatchLagMs: 'milliseconds from the last argument byte of a call written by the server to its tool entered',
  wonBack: 'of the time that a loop takes beyond its bound, the part that it does not take with its drop-in',
  faults:
    'executions that the run without eager tools would not have, or would have; `early`: all begun while the model was speaking',
} as const
