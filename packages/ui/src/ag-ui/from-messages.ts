/** Converts AG-UI messages to messages of an agent. */

import type { AssistantPart, Message, ToolCall, ToolMessage } from '@meanwhile/core'
import { problemIn } from '../page-files.ts'
import { fromAgUiContent } from './content.ts'
import type { AgUiMessage } from './wire.ts'

/**
 * Converts the messages of a request to the input of a run, for an agent without threads. The sender controls all of these messages, including
 * the assistant's; with threads `agUiHandler` reads only the last ones. It leaves out reasoning, because its signature is missing,
 * messages with the roles `system`, `developer` and `activity`, calls without a result, and the content of messages with a file that is neither
 * base64 nor at an `https:` address.
 */
export function fromAgUiMessages(messages: readonly AgUiMessage[]): Message[] {
  const results = new Map(
    messages.flatMap((message) => (message.role === 'tool' ? [[message.toolCallId, message]] : [])),
  )
  return messages.flatMap((message): Message[] => {
    if (message.role === 'assistant') return saidByModel(message, results)
    const content = message.role === 'user' ? soundContent(message.content) : undefined
    return content === undefined || content.length === 0 ? [] : [{ role: 'user', content }]
  })
}

function soundContent(given: unknown): ReturnType<typeof fromAgUiContent> {
  const content = fromAgUiContent(given)
  return content === undefined || problemIn(content, {}) !== undefined ? undefined : content
}

type SaidByModel = Extract<AgUiMessage, { role: 'assistant' }>
type Result = Extract<AgUiMessage, { role: 'tool' }>

function saidByModel({ content: text, toolCalls = [] }: SaidByModel, results: ReadonlyMap<string, Result>): Message[] {
  const content: AssistantPart[] = text ? [{ type: 'text', text }] : []
  const made: ToolMessage[] = []
  for (const { id, function: called } of toolCalls) {
    const result = results.get(id)
    if (!result) continue
    content.push({ type: 'tool-call', id, name: called.name, ...inputOf(called.arguments) })
    made.push(resultOf(result, called.name))
  }
  if (content.length === 0) return []
  return [{ role: 'assistant', content, finishReason: made.length > 0 ? 'tool-calls' : 'stop' }, ...made]
}

function inputOf(text: string): Pick<ToolCall, 'input' | 'inputError'> {
  try {
    return { input: JSON.parse(text || '{}') }
  } catch {
    return { input: text, inputError: 'it is not JSON' }
  }
}

function resultOf({ toolCallId: callId, content, error, metadata }: Result, name: string): ToolMessage {
  const given = soundContent(content) ?? ''
  const isError = error !== undefined || metadata?.isError === true
  const parts = typeof given === 'string' ? [{ type: 'text', text: given } as const] : given
  return { role: 'tool', callId, name, content: parts, ...(isError && { isError }) }
}
