/** Finds a call that has already started, by id or, after a retry, by equal input. */

import { callJoined } from '../machine/decide-calls.ts'
import { mayStart } from '../machine/halt.ts'
import { joinableCall } from '../machine/join.ts'
import { factsOf } from '../state/call-effect.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { RunState } from '../state/run.ts'
import { findTool } from '../vocabulary/aliases.ts'
import { sameCall } from '../vocabulary/canonical.ts'
import type { ToolCall } from '../vocabulary/message.ts'
import { discard, rename } from './commit-or-discard.ts'

/** Finds the calls of a response that already exist. */
export function findAllMade(run: RunState, calls: readonly ToolCall[]): ReadonlyMap<ToolCall, CallEntry> {
  const made = new Map<ToolCall, CallEntry>()
  const coming: ToolCall[] = []
  for (const call of calls) {
    const entry = findMade(run, call, coming)
    if (entry) made.set(call, entry)
    else coming.push(call)
  }
  return made
}

/**
 * Finds a call that already exists. A call of an earlier attempt continues as this call. A call whose arguments have changed is discarded.
 *
 * @param coming - The calls that are made before this one. Absent while the response is streaming: then nothing joins once the run halts, because an
 * earlier call may have been refused and the order is unknown.
 */
export function findMade(run: RunState, call: ToolCall, coming?: readonly ToolCall[]): CallEntry | undefined {
  const { calls, steps, setup } = run
  const same = calls.get(call.id)
  same?.rest?.complete(same, call)
  if (same && !same.discarded) {
    // An earlier attempt may have offered the tool of a call with this id, while this one does not.
    const isOther = same.provisional && same.tool !== undefined && calls.isUnoffered(call)
    if (sameCall(same.call, call) && !isOther) return same
    if (same.state.isRequested) discard(run, same, isOther ? 'call_withdrawn' : 'arguments_changed')
  }
  const attempt = calls.attemptOf(call.id)
  const content = calls.contentOf(steps.begun, call)
  if (attempt === undefined || content === undefined || calls.isUnoffered(call)) return undefined
  if (!coming && !mayStart(run.halt.state)) return undefined
  const unmade = (coming ?? []).map(({ name }) => factsOf(findTool(setup.tools, name)))
  const held = joinableCall(calls.state, content, attempt, unmade)
  const entry = held && calls.of(held.number)
  if (entry) join(run, entry, call.id, attempt)
  return entry
}

/** A further attempt requests the call. */
function join(run: RunState, entry: CallEntry, id: string, attempt: number): void {
  const { calls, telemetry } = run
  rename(run, entry, id)
  callJoined(calls.state, entry.number, attempt)
  const context = calls.contexts.get(attempt)
  if (!context) return
  entry.requestedIn.push(context)
  telemetry.joined(entry, context)
}
