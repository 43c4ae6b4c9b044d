/** Which call of an earlier attempt a later attempt joins, because it requests the same. */

import { exceeds } from '../vocabulary/effect.ts'
import { keysMeet, namesNone } from '../vocabulary/resource-keys.ts'
import { type CallState, effectOf, hasKeys, hasSettled, type ToolFacts, wasEntered } from './call.ts'
import { type Calls, callOf, keysIn } from './calls.ts'

/**
 * The first provisional call with this content that the attempt does not request yet, and that has read nothing stale.
 *
 * @param coming - The tools of the calls that the response requests in front of it, and that are not made yet.
 */
export function joinableCall(
  calls: Calls,
  content: number,
  attempt: number,
  coming: readonly (ToolFacts | undefined)[],
): CallState | undefined {
  for (const call of calls.all.values()) {
    if (call.content !== content || call.fate !== 'provisional' || call.requestedBy.includes(attempt)) continue
    if (!isStale(calls, call, attempt, coming)) return call
  }
  return undefined
}

/**
 * Whether a call has read too early for this attempt. That is so if another call now stands in front of it that must come first, because
 * the run has one slot or because they name the same key: then it has read what was there before a write, or will make calls that a read
 * in front must not see. A call that has not begun is never stale, and neither is one that did more than read: no effect is made twice.
 */
function isStale(calls: Calls, one: CallState, attempt: number, coming: readonly (ToolFacts | undefined)[]): boolean {
  const { all, limit } = calls
  if (!hasOnlyRead(calls, one)) return false
  const isRead = hasSettled(one) || begunEffectOf(one) === 'read'
  // Unknown for a call of a checkpoint: that does not hold its keys.
  const seen = keysIn(one)
  const overtakes = (tool: ToolFacts | undefined, made?: CallState) => {
    if (!tool || (isRead && ((made && effectOf(made)) ?? tool.effect) === 'read')) return false
    if (limit === 1) return true
    if (seen && namesNone(seen)) return false
    const keys = made && keysIn(made)
    return keys && seen ? keysMeet(keys, seen) : tool.namesKeys
  }
  // Calls that were made later, and that the attempt has made or joined before it requests this one.
  const requested = [...all.values()].filter((call) => call.number > one.number && call.requestedBy.includes(attempt))
  return coming.some((tool) => overtakes(tool)) || requested.some((call) => overtakes(call.tool, call))
}

/** Whether a call has begun, and neither it nor the calls it made did more than read. Of an agent in it only its ceiling is known. */
function hasOnlyRead(calls: Calls, call: CallState): boolean {
  const effect = begunEffectOf(call)
  if (effect !== 'calls') return effect === 'read'
  if (call.tool?.runsAgent) return !exceeds(call.ceiling ?? 'external', 'read')
  const children = call.children.map((child) => callOf(calls, child))
  return children.every((child) => !wasEntered(child) || hasOnlyRead(calls, child))
}

/** The effect of the newest execution that has its keys: no call that is made now comes before it. Else {@link effectOf}. */
const begunEffectOf = (call: CallState) => call.executions.findLast(hasKeys)?.judgement?.effect ?? effectOf(call)
