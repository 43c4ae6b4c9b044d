/** Tracks the calls of a streaming response: which attempt requests them, what the reader has seen, and which may still come. */

import type { Context } from '@opentelemetry/api'
import { earlyFor, mayStartFor } from '../machine/calls.ts'
import { alsoRequestedBy } from '../machine/decide-call.ts'
import { attemptEnded, idAnnounced, modelCalled, responseEnded } from '../machine/decide-calls.ts'
import type { RunState } from '../state/run.ts'
import { findTool, resolveAliases } from '../vocabulary/aliases.ts'
import { sameCall } from '../vocabulary/canonical.ts'
import { AgentError, messageOf, RunStop } from '../vocabulary/errors.ts'
import type { DiscardCause } from '../vocabulary/events.ts'
import { type AssistantMessage, callsOf, type ToolCall } from '../vocabulary/message.ts'
import type { ModelRequest } from '../vocabulary/model.ts'
import { ModelError } from '../vocabulary/model-errors.ts'
import { discard, discardAll } from './commit-or-discard.ts'

/** The model call of a step begins: the calls that it announces are provisional. Data of earlier steps that is no longer needed is deleted. */
export function responseBegins({ calls, steps, telemetry }: RunState): void {
  modelCalled(calls.state)
  calls.contexts.clear()
  calls.warmUps.renew()
  calls.events.renew()
  for (const { call } of calls.letGo(steps.begun)) telemetry.forget(call.id)
}

/** Called when a resumed step already has its response, with the calls that it requests and the calls that were made for it before the resume. */
export function responseRestored(run: RunState, answer: AssistantMessage, attempt: number | undefined): void {
  responseBegins(run)
  const { calls, steps, setup } = run
  const unoffered = steps.step.unoffered ?? []
  for (const call of callsOf(answer)) {
    const { id } = call
    if (unoffered.includes(id)) calls.state.response.unoffered.set(id, resolveAliases(call, setup.tools).name)
    callAnnounced(run, id, attempt ?? 0)
    // It belongs to this response. An equal call of the response is another call and does not join it.
    const by = calls.attemptOf(id)
    const entry = calls.get(id)
    if (by !== undefined && entry) entry.decide(alsoRequestedBy(entry.state, by))
  }
}

/** What is known of a call when a model begins it. */
export type NamedCall = Pick<ToolCall, 'id' | 'name'>

/** Called when a model attempt announces a call; attempt 0 is a wrap that answers itself. Only the first announcement of an id counts. */
export function callAnnounced({ calls, history }: RunState, callId: string, attempt: number, context?: Context): void {
  if (!idAnnounced(calls.state, callId, attempt)) return
  history.requests(callId)
  if (context && !calls.contexts.has(attempt)) calls.contexts.set(attempt, context)
}

/** Called when a model has written a call. A tool of the run that its request did not offer must not be called. */
export function callWritten({ calls, setup }: RunState, { id, name }: NamedCall, offered: ModelRequest['tools']): void {
  const { unoffered } = calls.state.response
  const tool = findTool(setup.tools, name)
  if (!tool || offered.some((one) => one.name === tool.name || one.name === name)) unoffered.delete(id)
  else unoffered.set(id, tool.name)
}

/** The ids of the calls of a message whose tools the model's request did not offer. */
export function unofferedIn({ calls, setup }: RunState, message: AssistantMessage): string[] {
  const isUnoffered = (call: ToolCall) => calls.isUnoffered(resolveAliases(call, setup.tools))
  return callsOf(message).flatMap((call) => (isUnoffered(call) ? [call.id] : []))
}

/** Implements `run.warm`. */
export function warm(run: RunState, callId: string, name: string, failed: (message: string) => void): void {
  const { calls, setup } = run
  const attempt = calls.attemptOf(callId)
  const tool = findTool(setup.tools, name)
  if (!tool || calls.isUnoffered({ id: callId, name: tool.name })) return
  if (attempt === undefined || !mayStartFor(calls.state, attempt) || calls.get(callId)) return
  calls.warmUps.begin(tool, callId, (error) => failed(`warm of ${name} threw: ${messageOf(error)}`))
}

/** Called when the reader sees a call: now the events that the call has emitted follow. A sealed call whose arguments changed is discarded. */
export function readerShown(run: RunState, written: ToolCall, sealed: boolean): void {
  const { calls, setup } = run
  const call = resolveAliases(written, setup.tools)
  calls.events.announced(call)
  const entry = calls.get(call.id)
  if (!entry?.provisional || entry.rest?.isOpen) return
  if (!sealed || sameCall(entry.call, call)) calls.events.show(entry)
  else {
    discard(run, entry, 'arguments_changed')
    calls.slots.advance()
  }
}

/**
 * Called when the stream of an attempt has ended. If it broke off, its calls no longer start, and calls with incomplete input can no longer be
 * joined. Returns how many had started.
 */
export function attemptOver(run: RunState, attempt: number, brokeOff: DiscardCause | undefined): number {
  const { calls } = run
  const { state, warmUps } = calls
  const { attempts, announcedBy } = state.response
  if (!attempts.has(attempt)) return 0
  attemptEnded(state, attempt, performance.now(), brokeOff !== undefined)
  const early = earlyFor(state, run.steps.begun, attempt).flatMap(({ number }) => calls.of(number) ?? [])
  if (brokeOff) {
    for (const entry of early) if (entry.rest?.isOpen) discard(run, entry, brokeOff)
    const ids = [...announcedBy].flatMap(([id, by]) => (by === attempt ? [id] : []))
    warmUps.drop('the response was interrupted', ids)
  }
  // Calls that it had requested and that have not begun no longer take part, so others may start.
  calls.slots.advance()
  return early.length
}

/** Called when all attempts of a model call have failed. Its calls are discarded, unless a resume continues the model call. */
export function modelFailed(run: RunState, error: unknown): void {
  if (!(error instanceof RunStop)) discardResponse(run, discardCauseOf(error))
}

/** Discards all calls of a response whose model call failed, or which must not be used. */
export function discardResponse(run: RunState, cause: DiscardCause): void {
  const { calls } = run
  responseEnded(calls.state)
  calls.warmUps.drop('the model call failed')
  discardAll(run, cause)
  calls.slots.advance()
}

/** Returns the reason for which the calls of a failed model call are discarded. The innermost error of core in the chain of causes decides. */
export function discardCauseOf(error: unknown): DiscardCause {
  if (error instanceof ModelError) return error.code === 'stream_truncated' ? 'stream_truncated' : 'stream_error'
  return error instanceof AgentError ? discardCauseOf(error.cause) : 'stream_error'
}
