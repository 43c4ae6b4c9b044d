/** What starting early has saved: `result.savings`. Plain JSON, in milliseconds. */

import type { DiscardCause } from '@meanwhile/core'
import type { Evidence } from './policy.ts'

declare module '@meanwhile/core' {
  interface ResultBase {
    /** Present if the agent has `eagerTools()`. In a resumed run it counts from the resume on. */
    readonly savings?: Savings
  }
}

/** The savings of a run: the sums over its steps. (Head starts of single calls do not add up to a saving.) */
export interface Savings {
  /** The milliseconds saved; negative if early starts made the run longer. */
  readonly savedMs: number
  /** How many milliseconds discarded calls ran. */
  readonly wastedMs: number
  /** Every step in which the model was called. */
  readonly steps: readonly StepSavings[]
}

/**
 * The savings of one step. Times are relative to the start of its model call. The actual times are compared with the
 * same calls made after the stream: with the measured durations, in call order, with the run's number of slots, and
 * within the tools' `concurrency` limits, as far as calls of this step reach them.
 *
 * What keeps a call back after the stream, for example a person who has to allow it, is in both times. Not included:
 * what a warm-up saves. The comparison lets calls overlap even if resource keys would keep them apart, so the true saving
 * is at least this one. With `statusFor: 0` only early calls are measured.
 */
export interface StepSavings {
  /** The number of the step, from 1. */
  readonly step: number
  /** How many calls may run at once; absent without a limit. */
  readonly slots?: number
  /** When the model's stream had ended. */
  readonly streamMs: number
  /** When the loop started the remaining calls: the end of the stream plus the time of hooks. */
  readonly stoodMs: number
  /** When the stream had ended and the last call had settled. */
  readonly actualMs: number
  /** The step's duration if all calls ran after the stream, one by one. */
  readonly sequentialMs: number
  /** The step's duration if all calls ran after the stream, on the run's slots. */
  readonly parallelMs: number
  /** `parallelMs - actualMs`; negative if starting early made the step longer, 0 if nothing started early. */
  readonly savedMs: number
  /**
   * How long discarded calls ran, without waits for the rest of their input. A call that is still running at the end of
   * the run counts until then.
   */
  readonly wastedMs: number
  /** The calls that the loop executed, in call order, then the discarded ones. */
  readonly calls: readonly CallSavings[]
}

/** The times of one call. */
export interface CallSavings {
  /** The id of the call. */
  readonly callId: string
  /** The name of the tool. */
  readonly tool: string
  /** When its arguments were complete. Absent if they never were. */
  readonly certainMs?: number
  /** When its function was called. Absent if it never was. */
  readonly startedMs?: number
  /**
   * From the start of its function until the call had settled, including its wraps; 0 if its function was never called.
   */
  readonly durationMs: number
  /**
   * The part of `durationMs` in which the function waited for members of its input that were still being written, from
   * its first `await` of `rest` on. This is not work, and would take no time after the stream.
   */
  readonly waitedMs?: number
  /** The evidence on which it started early; absent if the loop started it. */
  readonly evidence?: Evidence
  /** `failed`: its result is an error. */
  readonly outcome: 'committed' | 'failed' | 'discarded'
  /** Why it was discarded, if there was a `tool-discarded` event. */
  readonly cause?: DiscardCause
}
