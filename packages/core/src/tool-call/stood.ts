/** The wait for the commit of a call, and what becomes of a call that waits for one when the run pauses first. */

import type { RunState } from '../run/run.ts'
import { ToolDiscardedError } from '../tool-errors.ts'
import type { CallEntry } from './call-entry.ts'

/** Who waits: the call it works for, if any, and what aborts it alone. */
export interface Waiting {
  readonly call?: CallEntry | undefined
  readonly signals?: readonly AbortSignal[]
}

/**
 * Resolves when a call is committed. Throws when it is discarded, when it or whoever waits is aborted, and when the run pauses: no
 * commit follows then, and the call that has waited meets the run's stop.
 */
export async function stood({ cancel, config }: RunState, entry: CallEntry, waiting: Waiting = {}): Promise<void> {
  const { fate, signal } = entry
  const { paused } = cancel
  try {
    await fate.decidedBefore(AbortSignal.any([signal, ...(waiting.signals ?? []), paused]))
  } catch (error) {
    if (error === paused.reason) waiting.call?.meet(paused.reason, config.grace)
    throw error
  }
  if (fate.discarded) throw new ToolDiscardedError(entry.call.id, fate.discarded)
}
