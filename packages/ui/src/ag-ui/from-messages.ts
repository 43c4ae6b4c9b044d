/** Messages of AG-UI as messages of an agent. */

import type { AssistantPart, Message, ToolCall, ToolMessage } from '@meanwhile/core'
import { fromAgUiContent } from './content.ts'
import type { AgUiMessage } from './wire.ts'

/**
 * For an agent without threads: the messages of a request as the input of a run. Whoever sends the request has written all of them, what the
 * assistant is to have said included; with threads `agUiHandler` reads only the end. Left out are reasoning, as its signature is not in it,
 * messages of the roles `system`, `developer` and `activity`, and calls without a result.
 */
export function fromAgUiMessages(messages: readonly AgUiMessage[]): Message[] {
  const results = new Map(
    messages.flatMap((message) => (message.role === 'tool' ? [[message.toolCallId, message]] : [])),
  )
  return messages.flatMap((message): Message[] => {
    if (message.role === 'assistant') return saidByModel(message, results)
    const content = message.role === 'user' ? fromAgUiContent(message.content) : undefined
    return content === undefined || content.length === 0 ? [] : [{ role: 'user', content }]
  })
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
    return { input: text, inputError: 'it is no JSON' }
  }
}

function resultOf({ toolCallId: callId, content, error, metadata }: Result, name: string): ToolMessage {
  const given = fromAgUiContent(content) ?? ''
  const isError = error !== undefined || metadata?.isError === true
  const parts = typeof given === 'string' ? [{ type: 'text', text: given } as const] : given
  return { role: 'tool', callId, name, content: parts, ...(isError && { isError }) }
}
