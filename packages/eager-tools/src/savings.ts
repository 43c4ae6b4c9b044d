/** What starting early has brought: `result.savings`. Plain JSON, in milliseconds. */

import type { DiscardCause } from '@meanwhile/core'
import type { Evidence } from './policy.ts'

declare module '@meanwhile/core' {
  interface ResultBase {
    /** Of a run with `eagerTools()`, resumed ones from the resume on. */
    readonly savings?: Savings
  }
}

/** Savings add up over steps. Head starts of calls do not add up to a saving. */
export interface Savings {
  readonly savedMs: number
  readonly wastedMs: number
  /** Every step whose model was asked. */
  readonly steps: readonly StepSavings[]
}

/**
 * One step, its times from its model call's start, against the same calls after its stream: with the durations measured
 * here, in call order, on as many slots as the run has, and within the limits of the tools as far as this step's own calls
 * fill them.
 *
 * Left out: what a warm-up saves, and waits for calls of other runs. Where resource keys keep calls apart, the
 * counterfactual lets them overlap: the saving is then at least what is shown. With `statusFor: 0` only early calls are
 * measured.
 */
export interface StepSavings {
  readonly step: number
  /** How many calls may run at once; absent without a limit. */
  readonly slots?: number
  /** S: the model's stream had ended. */
  readonly streamMs: number
  /** The loop asked for the calls: S, and what hooks did then. */
  readonly stoodMs: number
  /** When the last call had settled, and the stream had ended. */
  readonly actualMs: number
  /** All calls after the stream, one by one. */
  readonly sequentialMs: number
  /** All calls after the stream, on the slots there are. */
  readonly parallelMs: number
  /** `parallelMs - actualMs`, negative if starting early made the step longer; 0 if nothing started early. */
  readonly savedMs: number
  /**
   * How long calls worked that were discarded, without what they waited for the rest of their input. One that still ran when the
   * answer stood counts until then.
   */
  readonly wastedMs: number
  /** Those the loop asked for, in call order, then the discarded ones. */
  readonly calls: readonly CallSavings[]
}

export interface CallSavings {
  readonly callId: string
  readonly tool: string
  /** a: its arguments were complete. Absent if the stream never said so. */
  readonly certainMs?: number
  /** Its function was entered. Absent if it never was. */
  readonly startedMs?: number
  /** d: from then until the call had settled, all its wraps out; 0 if its function was never entered. */
  readonly durationMs: number
  /**
   * Of that, how long its function waited for members of its input that were still being written, from its first `await` of `rest` on:
   * no work, and no time of d after the stream. What it did before that `await` is work.
   */
  readonly waitedMs?: number
  /** What an early start stood on; absent if the loop started it. */
  readonly evidence?: Evidence
  /** `failed`: its result is an error. */
  readonly outcome: 'committed' | 'failed' | 'discarded'
  /** Why it was discarded, if the reader was told. */
  readonly cause?: DiscardCause
}
