/** Decides which call of an earlier attempt a later attempt joins because it requests the same tool with the same input. */

import { changesNothing } from '../vocabulary/effect.ts'
import { keysMeet, namesNone } from '../vocabulary/resource-keys.ts'
import { type CallState, effectOf, hasKeys, hasSettled, type ToolFacts, wasEntered } from './call.ts'
import { type Calls, callOf, keysIn } from './calls.ts'

/**
 * The first provisional call with this content that the attempt does not request yet and that has not read stale data.
 *
 * @param coming - The tools of calls that the response requests before this one and that are not made yet.
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
 * Whether a call has read, or makes calls, too early for this attempt: a call that must run first now comes before it, because the run has one
 * slot or both name the same key. Never if it has not begun, or did more than read, because no effect may happen twice.
 */
function isStale(calls: Calls, one: CallState, attempt: number, coming: readonly (ToolFacts | undefined)[]): boolean {
  if (!hasOnlyRead(calls, one)) return false
  const isRead = hasSettled(one) || !effectsOf(one).includes('calls')
  // Unknown for a call of a checkpoint, which does not contain its keys.
  const seen = keysIn(one)
  const overtakes = (tool: ToolFacts | undefined, made?: CallState) => {
    if (!tool || (isRead && ((made && effectOf(made)) ?? tool.effect) === 'read')) return false
    if (calls.limit === 1) return true
    const keys = made && keysIn(made)
    return keys && seen ? keysMeet(keys, seen) : tool.namesKeys && !(seen && namesNone(seen))
  }
  // Calls that were made later, and that the attempt made or joined before it requests this one.
  const hasOvertaken = (call: CallState) =>
    call.number > one.number && call.requestedBy.includes(attempt) && overtakes(call.tool, call)
  return coming.some((tool) => overtakes(tool)) || [...calls.all.values()].some(hasOvertaken)
}

/** Whether a call has begun, and neither it nor its inner calls did more than read. For an agent in it only the ceiling is known. */
function hasOnlyRead(calls: Calls, call: CallState): boolean {
  const isRead = (child: CallState) => !wasEntered(child) || hasOnlyRead(calls, child)
  const onlyCalls = () =>
    call.tool?.runsAgent ? changesNothing(call.ceiling) : call.children.every((child) => isRead(callOf(calls, child)))
  return effectsOf(call).every((effect) => effect === 'read' || (effect === 'calls' && onlyCalls()))
}

/** The effects of the executions that have begun. One that has its keys counts as begun: no call that is made now comes before it. */
const effectsOf = ({ executions, effectBefore }: CallState) => {
  const begun = executions.filter((one) => one.isEntered || hasKeys(one))
  return begun.length > 0 ? begun.map(({ judgement }) => judgement?.effect) : [effectBefore]
}
