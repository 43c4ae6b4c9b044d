/** Waits until calls are committed. If the run pauses before that, the waiting call stops with the run. */

import { follow } from '../flow/follow.ts'
import { unlessAborted } from '../flow/grace.ts'
import { effectOf, type Judgement } from '../machine/call.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { RunState } from '../state/run.ts'
import { type Effect, exceeds } from '../vocabulary/effect.ts'
import { ToolDiscardedError } from '../vocabulary/tool-errors.ts'

/** What waits: a call, if one does, and the signals that only end the wait. */
export interface Waiter {
  readonly call?: CallEntry | undefined
  readonly signals?: readonly AbortSignal[]
}

/** Before an execution acts: an inner call waits for its own commit. Every call waits for the commit of the calls outside its run. */
export function untilMayAct(
  run: RunState,
  entry: CallEntry,
  { effect, mayBeEarly }: Judgement,
  signals: readonly AbortSignal[],
): Promise<void> | undefined {
  if (!entry.maker || !entry.provisional || mayBeEarly) return untilCallersCommitted(run, signals, effect)
  return untilCommitted(run, entry, { call: entry, signals }).then(() => untilCallersCommitted(run, signals, effect))
}

/**
 * Resolves when a call is committed. Throws when it is discarded, when it or the waiting call is aborted, and when the run pauses. No
 * commit follows a pause, so the waiting call then stops with the run.
 */
export async function untilCommitted({ halt, config }: RunState, entry: CallEntry, by: Waiter = {}): Promise<void> {
  const { paused } = halt
  try {
    await unlessAborted(entry.decided.promise, [entry.signal, ...(by.signals ?? []), paused])
  } catch (error) {
    if (error === paused.reason) by.call?.meet(paused.reason, config.grace)
    throw error
  }
  if (entry.discarded) throw new ToolDiscardedError(entry.call.id, entry.discarded)
}

/**
 * Waits for the commit of each early call with the effect `calls` that contains this run. With `effect`, waits only for those whose ceiling
 * does not allow it. Returns nothing if there is nothing to wait for.
 */
export function untilCallersCommitted(
  { caller, outer }: RunState,
  signals: readonly AbortSignal[],
  effect?: Effect,
): Promise<void> | undefined {
  // For any other effect, the author of the tool has declared the effects of its agent, too.
  if (!outer || !caller || effectOf(caller.state) !== 'calls') return undefined
  const isAllowed = effect && !exceeds(effect, caller.state.ceiling ?? 'external')
  if (!caller.provisional || isAllowed) return untilCallersCommitted(outer, signals, effect)
  return untilCallerCommitted(outer, caller, signals).then(() => untilCallersCommitted(outer, signals, effect))
}

/** Waits for the commit of a caller. If its run pauses, the caller stops with it; aborting the caller ends the wait. */
async function untilCallerCommitted(
  { halt, config }: RunState,
  caller: CallEntry,
  signals: readonly AbortSignal[],
): Promise<void> {
  const { paused } = halt
  const meet = () => caller.meet(paused.reason, config.grace)
  const unfollow = follow(paused, meet)
  if (paused.aborted) meet()
  try {
    await unlessAborted(caller.decided.promise, signals)
  } finally {
    unfollow()
  }
  if (caller.discarded) throw new ToolDiscardedError(caller.call.id, caller.discarded)
}
