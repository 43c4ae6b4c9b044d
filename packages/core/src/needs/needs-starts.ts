/** Calls that start when the members are there that their tools need, before their whole input is (H31, H32). */

import type { ToolCall } from '../message.ts'
import { freeze } from '../run/history.ts'
import type { RunState } from '../run/run.ts'
import type { Tool } from '../tool.ts'
import type { CallEntry } from '../tool-call/call-entry.ts'
import { discard } from '../tool-call/fates.ts'
import { ToolDiscardedError } from '../tool-errors.ts'
import { type Given, startsOnNeeds } from './needs.ts'
import { Rest } from './rest.ts'

/** What a call with these members would still wait for; nothing if it is not to start so. */
export function restOf(run: RunState, call: ToolCall, tool: Tool, attempt: number): Rest | undefined {
  if (!startsOnNeeds(tool, run.config)) return undefined
  const rest = new Rest(tool, freeze(call))
  return run.calls.get(call.id) || mayBeHeld(run, rest, attempt) ? undefined : rest
}

/** Whether a call with these members may turn out to be one that an earlier attempt has made. */
function mayBeHeld({ calls, steps }: RunState, rest: Rest, attempt: number): boolean {
  return calls.entries().some(({ state, provisional, call }) => {
    const isOther = state.requestedBy.length > 0 && !state.requestedBy.includes(attempt)
    return provisional && state.step === steps.begun && isOther && rest.isStartOf(call)
  })
}

/** A call has started so: its whole input, or that there will be none, is told to it. */
export function follow(run: RunState, entry: CallEntry, rest: Rest, whole: Promise<ToolCall>): void {
  whole.then(
    (whole) => complete(run, entry, rest, whole),
    () => rest.isOpen && discard(run, entry, 'stream_error'),
  )
}

/** The whole input of a call that has started so: it goes on, or was something else (H32). */
export function complete(run: RunState, entry: CallEntry, rest: Rest, call: ToolCall): void {
  if (!rest.isOpen || entry.discarded) return
  if (!rest.isStartOf(call)) {
    discard(run, entry, 'arguments_changed')
    return
  }
  run.calls.table.complete(entry, call)
  rest.checked = rest.complete(call).then((stands) => {
    if (!stands) discard(run, entry, 'arguments_changed')
  })
}

/** What `execute` of such a call is given. What a wrap has changed is not that. */
export async function givenOnNeeds(run: RunState, entry: CallEntry, call: ToolCall): Promise<Given> {
  const { rest } = entry
  const given = rest && call.input === rest.started.input ? await rest.given() : undefined
  if (given) return given
  discard(run, entry, 'arguments_changed')
  throw new ToolDiscardedError(entry.call.id, 'arguments_changed')
}
