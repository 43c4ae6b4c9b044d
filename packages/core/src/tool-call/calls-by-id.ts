/** Finds a call by its id, in any step, for `run.stood`, `run.cancelTool` and `run.toolStatus`. */

import { latestWork, workOf } from '../background/background.ts'
import { untilCallersCommitted, untilCommitted, type Waiter } from '../execution/wait-for-commit.ts'
import { rejectInTurn } from '../flow/event-loop.ts'
import { CallEntry } from '../state/call-entry.ts'
import type { PastCall } from '../state/call-table.ts'
import type { RunState } from '../state/run.ts'
import type { PathPart } from '../vocabulary/events.ts'
import { ToolDiscardedError, UnknownCallError } from '../vocabulary/tool-errors.ts'
import type { ToolStatus } from '../vocabulary/tool-status.ts'

/** Implements `run.stood`. */
export async function callStood(run: RunState, callId: string, waiting: Waiter): Promise<string> {
  const made = madeCall(run, callId, waiting.call)
  if (!made) return rejectInTurn(new UnknownCallError(callId))
  if (made instanceof CallEntry) {
    await untilCommitted(run, made, waiting)
    const above = untilCallersCommitted(run, [made.signal, ...(waiting.signals ?? [])])
    if (above) await above
  } else if (made.discarded) throw new ToolDiscardedError(made.call.id, made.discarded)
  return made.id
}

/** Implements `run.cancelTool`. */
export function cancelCall(run: RunState, callId: string, path: readonly PathPart[] = [], within?: CallEntry): boolean {
  const [caller, ...rest] = path
  const { config } = run
  const { made, work = made } = known(run, caller?.callId ?? callId, within)
  if (!work) throw new UnknownCallError(caller?.callId ?? callId)
  if (!(work instanceof CallEntry)) return false
  if (caller) {
    const inner = innerRunOf(run, work)
    return inner ? cancelCall(inner, callId, rest) : false
  }
  // The wraps of a background call may still be running, too.
  const isCallCancelled = made instanceof CallEntry && made !== work && made.cancel(config.grace)
  return work.cancel(config.grace) || isCallCancelled
}

/** Implements `run.toolStatus`. */
export function statusOf(
  run: RunState,
  callId: string,
  path: readonly PathPart[] = [],
  within?: CallEntry,
): ToolStatus | undefined {
  const [caller, ...rest] = path
  const { made, work = made } = known(run, caller?.callId ?? callId, within)
  if (!caller) return work && run.calls.remembered(work.status)
  const inner = innerRunOf(run, work)
  return inner && statusOf(inner, callId, rest)
}

/** The run inside a call: the newest one, if an earlier execution is still running. A past call has none. */
function innerRunOf({ innerRuns }: RunState, made: CallEntry | PastCall | undefined): RunState | undefined {
  return [...innerRuns].findLast(([, caller]) => caller === made)?.[0]
}

/** Returns the call with this id, and its background work if there is any. */
function known(
  run: RunState,
  callId: string,
  within: CallEntry | undefined,
): { made: CallEntry | PastCall | undefined; work: CallEntry | undefined } {
  const made = madeCall(run, callId, within)
  const work = made instanceof CallEntry ? workOf(run, made) : latestWork(run, callId)
  return { made, work }
}

/** Inside a call, an id means that call, then one of its inner calls, then the same for the calls that made it. Otherwise it means any call. */
function madeCall(
  { calls }: RunState,
  callId: string,
  within: CallEntry | undefined,
): CallEntry | PastCall | undefined {
  for (let at = within; at; at = at.maker) {
    const made = at.id === callId || at.call.id === callId ? at : (calls.get(callId, at) ?? calls.past(callId, at))
    if (made) return made
  }
  return calls.get(callId) ?? calls.past(callId) ?? calls.latest(callId)
}
