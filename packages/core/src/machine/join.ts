/** Which call an earlier attempt has made already for what a later one asks for. */

import { type CallState, effectOf, type ToolFacts } from './call.ts'
import { type Calls, keysIn } from './calls.ts'
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
 * Whether a read has seen what was there before a write that now stands in front of it: one it must come after, because there is
 * one slot or because they name the same key. An effect is never made twice, whatever stands in front of it now (H26).
 */
function isStale(
  { all, limit }: Calls,
  read: CallState,
  attempt: number,
  coming: readonly (ToolFacts | undefined)[],
): boolean {
  if (effectOf(read) !== 'read') return false
  // A checkpoint does not say what it has read.
  const seen = keysIn(read)
  const overtakes = (tool: ToolFacts | undefined, made?: CallState) => {
    if (!tool || ((made && effectOf(made)) ?? tool.effect) === 'read') return false
    if (limit === 1) return true
    if (seen && namesNone(seen)) return false
    const keys = made && keysIn(made)
    return keys && seen ? keysMeet(keys, seen) : tool.namesKeys
  }
  if (coming.some((tool) => overtakes(tool))) return true
  // What the attempt has made, or has joined, of the calls that were made after it.
  for (const call of all.values())
    if (call.number > read.number && call.by.includes(attempt) && overtakes(call.tool, call)) return true
  return false
}
