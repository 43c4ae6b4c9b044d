/** Waits until calls are committed. If the run pauses before that, the call that waits meets the stop of the run. */

import { follow } from '../flow/follow.ts'
import { unlessAborted } from '../flow/grace.ts'
import { effectOf, type Judgement } from '../machine/call.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { RunState } from '../state/run.ts'
import { type Effect, exceeds } from '../vocabulary/effect.ts'
import { ToolDiscardedError } from '../vocabulary/tool-errors.ts'

/** Whoever waits: the call it works for, if any, and the signals that end only its wait. */
export interface Waiter {
  readonly call?: CallEntry | undefined
  readonly signals?: readonly AbortSignal[]
}

/**
 * Resolves when a call is committed. Throws when it is discarded, when it or whoever waits is aborted, and when the run pauses: no
 * commit follows then, and the call that has waited meets the run's stop.
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
 * What an execution waits for before the second gate, if it waits: an inner call for its own commit, and any call for the commit of the calls
 * above its run.
 */
export function waitForCommit(
  run: RunState,
  entry: CallEntry,
  { effect, mayBeEarly }: Judgement,
  signals: readonly AbortSignal[],
): Promise<void> | undefined {
  if (entry.maker && entry.provisional && !mayBeEarly)
    return untilCommitted(run, entry, { call: entry, signals }).then(() => untilCallersCommitted(run, signals, effect))
  return untilCallersCommitted(run, signals, effect)
}

/**
 * Waits for the commit of each early call that a run works for and that only makes calls; of those only that do not allow this effect, if one
 * is given. Nothing where there is none.
 */
export function untilCallersCommitted(
  { caller, outer }: RunState,
  signals: readonly AbortSignal[],
  effect?: Effect,
): Promise<void> | undefined {
  // What another call does, with an agent, too, is what its author has declared.
  if (!outer || !caller || effectOf(caller.state) !== 'calls') return undefined
  const isAllowed = effect && !exceeds(effect, caller.state.ceiling ?? 'external')
  if (!caller.provisional || isAllowed) return untilCallersCommitted(outer, signals, effect)
  return untilCallerCommitted(outer, caller, signals).then(() => untilCallersCommitted(outer, signals, effect))
}

/** If its run pauses, the caller meets that, and its abort reaches whoever waits. */
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

/** A warning about a call: only if it is committed, as the run that is not eager makes no other. */
export function warnOnceCommitted(run: RunState, entry: CallEntry, code: string, message: string): void {
  void entry.decided.promise.then(() => {
    if (entry.state.fate === 'committed') run.events.warn({ code, message, source: 'core' })
  })
}
