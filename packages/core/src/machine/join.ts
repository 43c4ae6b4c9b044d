/** Which call an earlier attempt has made already for what a later one asks for. */

import { exceeds } from '../tool.ts'
import { type CallState, effectOf, hasSettled, type ToolFacts, usesKeys, wasEntered } from './call.ts'
import { type Calls, callOf, keysIn } from './calls.ts'
import { keysMeet, namesNone } from './resource-keys.ts'

/**
 * The first provisional call with this content that the attempt has not asked for yet (H22), and that has seen nothing old (H26).
 *
 * @param coming - The tools of calls that the response asks for in front of it, and that are not made yet.
 */
export function heldFor(
  calls: Calls,
  content: number,
  attempt: number,
  coming: readonly (ToolFacts | undefined)[],
): CallState | undefined {
  for (const call of calls.all.values()) {
    if (call.content !== content || call.fate !== 'provisional' || call.by.includes(attempt)) continue
    if (!isStale(calls, call, attempt, coming)) return call
  }
  return undefined
}

/**
 * Whether a call that has only read began before one that now stands in front of it and must come first, because there is one slot or
 * because they name the same key: it has seen what was there before a write, or is yet to make calls that a read in front must not see.
 * An effect is never made twice, whatever stands in front of it now (H26).
 */
function isStale(calls: Calls, one: CallState, attempt: number, coming: readonly (ToolFacts | undefined)[]): boolean {
  const { all, limit } = calls
  if (!hasOnlyRead(calls, one)) return false
  const isRead = hasSettled(one) || begunEffectOf(one) === 'read'
  // A checkpoint does not say what it has read.
  const seen = keysIn(one)
  const overtakes = (tool: ToolFacts | undefined, made?: CallState) => {
    if (!tool || (isRead && ((made && effectOf(made)) ?? tool.effect) === 'read')) return false
    if (limit === 1) return true
    if (seen && namesNone(seen)) return false
    const keys = made && keysIn(made)
    return keys && seen ? keysMeet(keys, seen) : tool.namesKeys
  }
  // What the attempt has made, or has joined, of the calls that were made after it.
  const asked = [...all.values()].filter((call) => call.number > one.number && call.by.includes(attempt))
  return coming.some((tool) => overtakes(tool)) || asked.some((call) => overtakes(call.tool, call))
}

/** It was let go, and neither it nor what it has called did more than read. Of what an agent in it has done, only its ceiling is known. */
function hasOnlyRead(calls: Calls, call: CallState): boolean {
  const effect = begunEffectOf(call)
  if (effect !== 'calls') return effect === 'read'
  if (call.tool?.runsAgent) return !exceeds(call.ceiling ?? 'external', 'read')
  const children = call.children.map((child) => callOf(calls, child))
  return children.every((child) => !wasEntered(child) || hasOnlyRead(calls, child))
}

/** The effect of the newest execution that was let go: it has its keys, and no call that is made now comes before it. */
const begunEffectOf = (call: CallState) => call.executions.findLast(usesKeys)?.does?.effect ?? effectOf(call)
