/** Lets calls start with the members that their tool `needs`, and tools `warm` up. */

import type { CallEntry } from '../state/call-entry.ts'
import type { NeedsCapability } from '../state/capabilities.ts'
import type { RunState } from '../state/run.ts'
import { freeze } from '../vocabulary/history.ts'
import type { ToolCall } from '../vocabulary/message.ts'
import type { Tool } from '../vocabulary/tool.ts'
import { definitionsOf, startsOnNeeds } from './members.ts'
import { CallRest, givenOf } from './rest.ts'
import { CallWarmUps } from './warm-ups.ts'

export const needs: NeedsCapability<RunState, CallEntry> = {
  restOf,
  givenOf,
  definitionsOf,
  warmUps: () => new CallWarmUps(),
}

function restOf(run: RunState, call: ToolCall, tool: Tool, attempt: number): CallRest | undefined {
  if (!startsOnNeeds(tool, run.config)) return undefined
  const rest = new CallRest(run, tool, freeze(call))
  return run.calls.get(call.id) || mayBeHeld(run, rest, attempt) ? undefined : rest
}

/** Whether a call with these members may turn out to be equal to a call that an earlier attempt has made. */
function mayBeHeld({ calls, steps }: RunState, rest: CallRest, attempt: number): boolean {
  return calls.entries().some(({ state, provisional, call }) => {
    const isOther = state.requestedBy.length > 0 && !state.requestedBy.includes(attempt)
    return provisional && state.step === steps.begun && isOther && rest.isStartOf(call)
  })
}
