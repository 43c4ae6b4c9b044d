/** The messages that the model reads for calls without a result, and for the results of background calls. */

import { textMessage } from '../execution/result-message.ts'
import { shownName } from '../vocabulary/call-limits.ts'
import { sameCall } from '../vocabulary/canonical.ts'
import { messageOf } from '../vocabulary/errors.ts'
import { jsonText } from '../vocabulary/json-text.ts'
import type { AssistantMessage, ContentPart, ToolCall, ToolMessage, UserMessage } from '../vocabulary/message.ts'

/** The message of a call that failed: the error text, without a stack. `ran`: the error is not that of its tool, which ran before. */
export function errorMessage(call: ToolCall, thrown: unknown, ran = false): ToolMessage {
  const what = ran ? `${call.name} ran, and its effect may have happened, but then the call failed: ` : ''
  return textMessage(call, what + messageOf(thrown), true)
}

/** The input that a wrap passed on, as JSON, if it is another one than that of the call; otherwise empty. */
export function otherInput(made: ToolCall, call: ToolCall): string {
  try {
    return made.input === call.input || sameCall(made, call) ? '' : (jsonText(made.input) ?? '')
  } catch {
    return 'a value that is not JSON'
  }
}

/** The most characters of an input, or of other calls, that a result contains. */
export const MOST_SHOWN = 4_000

/** The text, or its beginning and its length if it has more characters than this. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}… (${text.length} characters)` : text
}

/** Adds the input that a call ran with. The call in the history keeps what the model wrote. */
export function withInput(message: ToolMessage, input: string): ToolMessage {
  const text = `This call ran with another input: ${shortened(input, MOST_SHOWN)}.\n`
  return { ...message, content: [{ type: 'text', text }, ...message.content] }
}

/** What the model reads for a call that has no result because its run ended. */
export function cutOffText(started: boolean): string {
  return started
    ? 'The run ended while this call was running. The call was cut off, and its effect may have happened.'
    : 'Not run: the run ended before this call started.'
}

/** What the model reads, after a resume, for a call that had started and is not made again. */
export function mayHaveHappenedText(cancelled: boolean): string {
  return `This call had started when the run was ${cancelled ? 'cancelled' : 'cut off'}. Its result is unknown: it may have happened. It was not run again.`
}

/** What the model, and a reader of the history, see for a background call that asks a question. */
export const NO_ANSWER =
  'The call asked, but a background call cannot get an answer. A tool that asks must not be `background`.'

/** What the model reads for a call that was cancelled by itself. */
export function cancelledText(started: boolean): string {
  return started
    ? 'The call was cancelled while it was running. It was cut off, and its effect may have happened.'
    : 'Not run: the call was cancelled before it started.'
}

/** What the model reads for calls of a response that must not be used. The text does not depend on whether a call had started early. */
export function forbiddenText({ finishReason: reason, response }: AssistantMessage): string {
  if (reason === 'length') return 'No result: the response was cut off at its token limit before it was complete.'
  if (reason === 'content-filter') return 'No result: the response was stopped by a content filter.'
  const word = response?.finishReason ? `: ${shownName(String(response.finishReason))}` : ''
  return `No result: the response ended for a reason that allows no tool calls${word}.`
}

/** What the model reads for calls in the last permitted step. */
export function stepLimitText(maxSteps: number): string {
  return `Not run: the limit of ${maxSteps} ${maxSteps === 1 ? 'step' : 'steps'} is reached, so no model call could read the result.`
}

/** The message with the result of a background call. Its call was answered when it began. */
export function resultNotice({ callId, name, content, isError }: ToolMessage): UserMessage {
  const end = isError ? 'failed' : 'finished'
  const header: ContentPart = { type: 'text', text: `The background call ${callId} of ${name} has ${end}:` }
  return { role: 'user', origin: 'background', content: [header, ...content] }
}
