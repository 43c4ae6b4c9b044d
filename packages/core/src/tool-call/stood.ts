/** What waits for the commit of a call, and what becomes of a call that waits for one when the run pauses first. */

import { follow } from '../flow/follow.ts'
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
export async function stood({ halt, config }: RunState, entry: CallEntry, waiting: Waiting = {}): Promise<void> {
  const { paused } = halt
  try {
    await decidedBefore(entry, AbortSignal.any([entry.signal, ...(waiting.signals ?? []), paused]))
  } catch (error) {
    if (error === paused.reason) waiting.call?.meet(paused.reason, config.grace)
    throw error
  }
  if (entry.discarded) throw new ToolDiscardedError(entry.call.id, entry.discarded)
}

async function decidedBefore({ decided }: CallEntry, signal: AbortSignal): Promise<void> {
  let unfollow = () => {}
  const aborted = new Promise<never>((_, reject) => {
    const abort = () => reject(signal.reason)
    unfollow = follow(signal, abort)
    if (signal.aborted) abort()
  })
  try {
    await Promise.race([decided.promise, aborted])
  } finally {
    unfollow()
  }
}

/** A warning about a call: only if it is committed, as the run that is not eager makes no other (H16). */
export function warnOf(entry: CallEntry, run: RunState, code: string, message: string): void {
  void entry.decided.promise.then(() => {
    if (entry.state.fate === 'committed') run.events.warn({ code, message, source: 'core' })
  })
}
