/** Refuses the calls of a response that was cut off, or of the last permitted step: the model reads the reason instead of their results. */

import { mayGoOn } from '../machine/steps.ts'
import type { RunState } from '../state/run.ts'
import { isOutputCall } from '../vocabulary/agent-config.ts'
import { findTool } from '../vocabulary/aliases.ts'
import type { DiscardCause } from '../vocabulary/events.ts'
import { type AssistantMessage, allowsCalls, callsOf, type ToolCall, type ToolMessage } from '../vocabulary/message.ts'
import { refuse } from './history-results.ts'
import { forbiddenText, stepLimitText } from './no-result-message.ts'
import { discardResponse } from './streamed-calls.ts'

export interface Refusal {
  readonly text: string
  readonly cause: DiscardCause
  /** Whether the response still counts as an answer. */
  readonly isAnswer: boolean
}

/** Why none of these calls may run: because of how the response ended, or because no step could read their results. */
export function refusalOf(run: RunState, answer: AssistantMessage, calls: readonly ToolCall[]): Refusal | undefined {
  if (calls.length === 0) return undefined
  const isAnswer = answer.finishReason !== 'length'
  if (!allowsCalls(answer.finishReason)) return { text: forbiddenText(answer), cause: 'stream_truncated', isAnswer }
  const { maxSteps, tools } = run.setup
  const isDirect = (one: ToolCall) => findTool(tools, one.name)?.returnDirect && !run.calls.isUnoffered(one)
  const mayEndRun = calls.some((one) => isOutputCall(run.config.output, one) || isDirect(one))
  if (mayGoOn(run.steps.state) || mayEndRun) return undefined
  return { text: stepLimitText(maxSteps), cause: 'call_withdrawn', isAnswer: false }
}

/** The results of calls that may not run. Early calls of the response are discarded. Warns if the finish reason is unknown. */
export function refuseAll(run: RunState, answer: AssistantMessage, { cause, text }: Refusal): ToolMessage[] {
  discardResponse(run, cause)
  // A discarded call may have stopped the run. A resume then refuses the calls and emits their ends.
  run.signal.throwIfAborted()
  const word = answer.finishReason === 'other' && answer.response?.finishReason
  const message = `the finish reason ${String(word).slice(0, 200)} is unknown, so the calls of the response were not run`
  if (word) run.events.warn({ code: 'unknown-finish-reason', message, source: 'core' })
  return callsOf(answer).map((call) => refuse(run, call, text))
}
