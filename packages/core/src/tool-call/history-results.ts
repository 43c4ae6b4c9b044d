/** Makes the result messages of calls for the history, also for calls without a result. */

import { textMessage } from '../execution/result-message.ts'
import { wasEntered } from '../machine/call.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { Result } from '../state/call-outcomes.ts'
import type { RunState } from '../state/run.ts'
import { resolveAliases } from '../vocabulary/aliases.ts'
import { sameCall } from '../vocabulary/canonical.ts'
import { freeze } from '../vocabulary/history.ts'
import type { ToolCall, ToolMessage, UserMessage } from '../vocabulary/message.ts'
import { cancelledText, cutOffText, resultNotice } from './no-result-message.ts'
import { insideText, stoppedInside } from './stopped-calls.ts'

/** Returns the result of each call, or a message that states how far it came. Emits the end of each call that the reader has not seen. */
export function answersTo(run: RunState, calls: readonly ToolCall[]): ToolMessage[] {
  return calls.map((call) => {
    const entry = run.calls.get(call.id)
    const made = entry?.discarded ? undefined : entry
    if (!made?.message) return refuse(run, call, endText(run, cutOffText, made))
    const { message } = made
    // If a `wrapAgent` ended while it passed on the event, the event has not reached the reader.
    if (made.state.told !== 'shown') run.events.callEnded(message)
    return inWordsOf(call, message)
  })
}

/** Returns the same without events, for calls that a checkpoint keeps open, including early ones: a resume emits their ends. */
export function outcomesOf(run: RunState, calls: readonly ToolCall[]): ToolMessage[] {
  return calls.map((call) => {
    const entry = run.calls.get(call.id)
    const kept = !entry?.discarded || entry.discarded === 'run_aborted'
    const made = entry && kept && sameCall(entry.call, own(run, call)) ? entry : undefined
    return inWordsOf(call, outcome(run, call, made))
  })
}

/** The results of these calls that already exist. */
export function settledOf(run: RunState, calls: readonly ToolCall[]): ToolMessage[] {
  const settled = calls.filter(({ id }) => run.calls.get(id)?.state.course === 'result')
  return outcomesOf(run, settled)
}

/** The results of background work that the model has not read, as messages. Work without a result gets one that states how far it came. */
export function unreadResults(run: RunState): UserMessage[] {
  const unread = run.calls.works().filter(({ state }) => !state.work?.isRead && !state.work?.isHandedOver)
  return unread.map((entry) => freeze(resultNotice(outcome(run, entry.call, entry))))
}

/** The error result of a call that is not made or has no result. Emits the end of the call. */
export function refuse(run: RunState, call: ToolCall, text: string): ToolMessage {
  const message = freeze(textMessage(own(run, call), text, true))
  run.events.callEnded(message)
  return inWordsOf(call, message)
}

/** Returns the result of an aborted call. If the call itself was cancelled, the message is its result; otherwise the end of its run cut it off. */
export function cutOffResult(run: RunState, entry: CallEntry): Result {
  const { call, cancelled } = entry
  const message = textMessage(call, endText(run, cancelled ? cancelledText : cutOffText, entry), true)
  return { message, ...(!cancelled && { isCutOff: true }) }
}

/** The text for a call that was stopped: whether it had started, and what has run inside it. */
function endText({ history }: RunState, textOf: (started: boolean) => string, entry: CallEntry | undefined): string {
  if (!entry) return textOf(false)
  const inside = insideText(stoppedInside(entry, history.messages))
  return textOf(inside !== '' || wasEntered(entry.state, !entry.cancelled)) + inside
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
function outcome(run: RunState, call: ToolCall, entry: CallEntry | undefined): ToolMessage {
  const message = entry?.message
  if (message?.callId === call.id) return message
  return freeze(message ? { ...message, callId: call.id } : textMessage(call, endText(run, cutOffText, entry), true))
}

function own(run: RunState, call: ToolCall): ToolCall {
  return resolveAliases(call, run.setup.tools)
}
