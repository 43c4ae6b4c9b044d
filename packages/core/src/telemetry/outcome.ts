/** What became of what a span stands for. */

import { RunAbortedError, RunStop } from '../errors.ts'
import { Interrupt } from '../interrupt/interrupt.ts'
import { ToolCancelledError, ToolDiscardedError } from '../tool-errors.ts'

export type Outcome = 'completed' | 'failed' | 'interrupted' | 'cancelled' | 'committed' | 'discarded' | 'abandoned'

/** The run's or an attempt's outcome, from what it threw. */
export function outcomeOf(error: unknown): Outcome {
  if (error === undefined) return 'completed'
  if (error instanceof Interrupt) return 'interrupted'
  return isOnPurpose(error) ? 'cancelled' : 'failed'
}

/** It is no failure: an abort, a stop, a discard. */
export function isOnPurpose(error: unknown): boolean {
  return [RunAbortedError, RunStop, ToolDiscardedError, ToolCancelledError].some((kind) => error instanceof kind)
}
