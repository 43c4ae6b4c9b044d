/** Makes the result messages of calls for the history, also for calls without a result. */

import { wasEntered } from '../machine/call.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { Result } from '../state/call-outcomes.ts'
import type { RunState } from '../state/run.ts'
import { resolveAliases } from '../vocabulary/aliases.ts'
import { sameCall } from '../vocabulary/canonical.ts'
import { freeze } from '../vocabulary/history.ts'
import type { ToolCall, ToolMessage } from '../vocabulary/message.ts'
import { cancelledMessage, cutOffMessage, cutOffText, textMessage } from './no-result-message.ts'

/** Returns the result of each call, or a message that states how far it came. Emits the end of each call that the reader has not seen. */
export function answersTo(run: RunState, calls: readonly ToolCall[]): ToolMessage[] {
  return calls.map((call) => {
    const entry = run.calls.get(call.id)
    const made = entry?.discarded ? undefined : entry
    if (!made?.message) return refuse(run, call, cutOffText(made !== undefined && wasEntered(made.state)))
    const { message } = made
    // If a `wrapAgent` ended while it passed on the event, the event has not reached the reader.
    if (made.state.told !== 'shown') run.events.callEnded(call.id, message)
    return inWordsOf(call, message)
  })
}

/** Returns the same without events, for calls that a checkpoint keeps open, including early ones: a resume emits their ends. */
export function outcomesOf(run: RunState, calls: readonly ToolCall[]): ToolMessage[] {
  return calls.map((call) => {
    const entry = run.calls.get(call.id)
    const kept = !entry?.discarded || entry.discarded === 'run_aborted'
    const made = entry && kept && sameCall(entry.call, own(run, call)) ? entry : undefined
    return inWordsOf(call, outcome(call, made))
  })
}

/** The results of these calls that already exist. */
export function settledOf(run: RunState, calls: readonly ToolCall[]): ToolMessage[] {
  return outcomesOf(
    run,
    calls.filter(({ id }) => run.calls.get(id)?.state.course === 'result'),
  )
}

/** The error result of a call that is not made or has no result. Emits the end of the call. */
export function refuse(run: RunState, call: ToolCall, text: string): ToolMessage {
  const message = freeze(textMessage(own(run, call), text, true))
  run.events.callEnded(call.id, message)
  return inWordsOf(call, message)
}

/** Returns the result of an aborted call. If the call itself was cancelled, the message is its result; otherwise the end of its run cut it off. */
export function cutOffResult({ call, state, cancelled }: CallEntry): Result {
  if (cancelled) return { message: cancelledMessage(call, wasEntered(state)) }
  return { message: cutOffMessage(call, wasEntered(state)), isCutOff: true }
}

/** Settles a call with the result from a checkpoint. */
export function settleAs(entry: CallEntry, message: ToolMessage): void {
  entry.settle({ message: freeze(message) })
  entry.promise = Promise.resolve(message)
  entry.status.end(message.isError ? 'error' : 'ok')
}

/** The result for the history, with the tool name that the model wrote. */
export function inWordsOf(call: ToolCall | undefined, message: ToolMessage): ToolMessage {
  return !call || call.name === message.name ? message : freeze({ ...message, name: call.name })
}

/** The result of a call, or a message that states how far it came. */
function outcome(call: ToolCall, entry: CallEntry | undefined): ToolMessage {
  const message = entry?.message
  if (message?.callId === call.id) return message
  if (message) return freeze({ ...message, callId: call.id })
  return freeze(cutOffMessage(call, entry !== undefined && wasEntered(entry.state)))
}

function own(run: RunState, call: ToolCall): ToolCall {
  return resolveAliases(call, run.setup.tools)
}
