/** Finds the call that was already made for a requested one: under its id, or for an earlier attempt that requested the same. */

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

/** Of the calls of a response. */
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
 * The entry of a call that is made already. One of an earlier attempt goes on as this call; one that has turned out to be
 * something else is discarded. `coming`: what is made before it; without it the call is requested while its response streams. Then nothing
 * joins once the run halts: what stands in front of it may have been refused, so that nobody knows what the call has overtaken.
 */
export function findMade(run: RunState, call: ToolCall, coming?: readonly ToolCall[]): CallEntry | undefined {
  const { calls, steps, setup } = run
  const same = calls.get(call.id)
  same?.rest?.complete(same, call)
  if (same && !same.discarded) {
    if (sameCall(same.call, call)) return same
    if (same.state.isRequested) discard(run, same, 'arguments_changed')
  }
  const attempt = calls.attemptOf(call.id)
  const content = calls.table.contentOf(steps.begun, call)
  if (attempt === undefined || content === undefined) return undefined
  if (!coming && !mayStart(run.halt.state)) return undefined
  const unmade = (coming ?? []).map(({ name }) => factsOf(findTool(setup.tools, name)))
  const held = joinableCall(calls.table.state, content, attempt, unmade)
  const entry = held && calls.table.of(held.number)
  if (entry) join(run, entry, call.id, attempt)
  return entry
}

/** A further attempt requests it. */
function join(run: RunState, entry: CallEntry, id: string, attempt: number): void {
  const { calls, telemetry } = run
  rename(run, entry, id)
  callJoined(calls.table.state, entry.number, id, attempt)
  const context = calls.contexts.get(attempt)
  if (!context) return
  entry.requestedIn.push(context)
  telemetry.joined(entry, context)
}
