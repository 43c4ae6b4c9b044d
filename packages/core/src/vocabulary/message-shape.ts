/** The shape of a message: whether a value from outside has it, what is wrong with one that has not, and how the message of a model gets it. */

import { isRecord } from './json.ts'
import type { AssistantMessage, AssistantPart, ContentPart, FinishReason, Message } from './message.ts'
import { callsOf } from './message.ts'
import { isText } from './shape.ts'

/** Whether all parts of a message are valid. */
export function hasParts({ role, content }: Message): boolean {
  if (isText(content)) return true
  return content.every(role === 'assistant' ? isAssistantPart : isContentPart)
}

export function isContentPart(part: unknown): part is ContentPart {
  if (!isRecord(part)) return false
  if (part.type === 'text') return isText(part.text)
  const { data } = part
  const isData = isText(data) || (isRecord(data) && isText(data.url))
  return part.type === 'file' && isText(part.mediaType) && isData
}

function isAssistantPart(part: unknown): boolean {
  if (!isRecord(part)) return false
  if (part.type === 'tool-call') return isText(part.id) && isText(part.name)
  return (part.type === 'text' || part.type === 'reasoning') && isText(part.text)
}

const FINISH_REASONS: readonly FinishReason[] = ['stop', 'tool-calls', 'length', 'content-filter', 'error', 'other']

/** Whether a value from outside is the finish reason of a message. */
export function isFinishReason(value: FinishReason): boolean {
  return FINISH_REASONS.includes(value)
}

export const CONTENT_PARTS =
  "{ type: 'text', text } or { type: 'file', mediaType, data }, its data as base64 or { url }"

/** Names the kind of a value that is not an object, in one word. */
export function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  return value === null || value === undefined ? String(value) : `a ${typeof value}`
}

/** Describes why a value is not a user message. */
export function whyNotUserMessage(value: unknown): string {
  if (!isRecord(value)) return `this is ${kindOf(value)}`
  if (value.role !== 'user') return value.role === undefined ? 'this has no role' : 'this has another role than user'
  return value.content === undefined ? 'this has no content' : 'its content is neither a text nor a list of parts'
}

/** Guesses what a wrong value was meant to be, for an error message; empty if there is no guess. */
export function shapeHint(value: unknown): string {
  if (!isRecord(value)) return ''
  if (value.role === 'system') return '; a system prompt is the option instructions'
  if ('parts' in value) return '; fromUIMessages() of @meanwhile/ui/ai-sdk reads the messages of useChat'
  if (value.role === 'assistant')
    return '; the content of an assistant message is a list of parts: text, reasoning and tool-call'
  if (value.role === 'user' || value.role === 'tool') return `; a part of its content is ${CONTENT_PARTS}`
  return ''
}

/**
 * Returns the message with a finish reason that matches its content. A message without calls to run is an answer, so `tool-calls` becomes `stop`, and
 * the provider's own reason is removed.
 */
export function withFittingReason(message: AssistantMessage): AssistantMessage {
  if (message.finishReason !== 'tool-calls' || callsOf(message).length > 0) return message
  const { response, ...rest } = message
  if (!response) return { ...rest, finishReason: 'stop' }
  const { finishReason: _, ...info } = response
  return { ...rest, finishReason: 'stop', response: info }
}

/** Returns the message of a response that was cut off. Text that is only white space is left out, because providers reject it. */
export function partialMessage(parts: readonly AssistantPart[]): AssistantMessage | undefined {
  const content = parts.filter((part) => part.type !== 'text' || part.text.trim() !== '')
  return content.length > 0 ? { role: 'assistant', content, finishReason: 'other', cutOff: true } : undefined
}
