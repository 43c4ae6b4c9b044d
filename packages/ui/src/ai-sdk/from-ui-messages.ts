/** Converts UI messages to messages of an agent. */

import type { AssistantPart, Message, ToolCall, ToolMessage, UserMessage } from '@meanwhile/core'
import type { UIMessage } from 'ai'
import { problemIn } from '../page-files.ts'
import { userMessageOf } from './user-message.ts'

/**
 * Converts the messages of a browser to the input of a run, for an agent without threads. The sender controls all of these messages, including
 * the assistant's; with threads `chatHandler` reads only the last message. Reasoning is left out, because its signature is
 * missing, and so are system messages, calls without a result, and messages with a file that is neither base64 nor at an `https:` address.
 */
export function fromUIMessages(messages: readonly UIMessage[]): Message[] {
  return messages.flatMap((message) => {
    if (message.role === 'assistant') return steps(message.parts).flatMap(stepMessages)
    const said = userMessageOf(message)
    return said && isSound(said) ? [said] : []
  })
}

function isSound({ content }: UserMessage): boolean {
  return problemIn(content, {}) === undefined
}

type Part = UIMessage['parts'][number]

function steps(parts: readonly Part[]): readonly (readonly Part[])[] {
  const all: Part[][] = [[]]
  for (const part of parts) {
    if (part.type === 'step-start') all.push([])
    else all.at(-1)?.push(part)
  }
  return all
}

function stepMessages(parts: readonly Part[]): readonly Message[] {
  const content: AssistantPart[] = []
  const results: ToolMessage[] = []
  const said: Message[] = []
  for (const part of parts) {
    if (part.type === 'text' && part.text !== '') content.push({ type: 'text', text: part.text })
    if (part.type === 'steering-message') {
      const message = userMessageOf({ role: 'user', parts: part.parts })
      if (message && isSound(message)) said.push(message)
    }
    const made = madeCall(part)
    if (!made) continue
    content.push(made.call)
    results.push(made.result)
  }
  if (content.length === 0) return said
  const finishReason = results.length > 0 ? 'tool-calls' : 'stop'
  return [{ role: 'assistant', content, finishReason }, ...results, ...said]
}

/** A call that has its result. */
function madeCall(part: Part): { readonly call: ToolCall; readonly result: ToolMessage } | undefined {
  if (!('toolCallId' in part) || !('state' in part)) return undefined
  const name = part.type === 'dynamic-tool' ? part.toolName : part.type.slice('tool-'.length)
  const { toolCallId: id } = part
  const call: ToolCall = { type: 'tool-call', id, name, input: part.input ?? {} }
  const result = (text: string) => ({ role: 'tool', callId: id, name, content: [{ type: 'text', text }] }) as const
  if (part.state === 'output-error') return { call, result: { ...result(part.errorText), isError: true } }
  if (part.state === 'output-denied')
    return { call, result: { ...result('Not run: the call was denied.'), isError: true } }
  if (part.state !== 'output-available' || part.preliminary) return undefined
  const { output } = part
  const text = typeof output === 'string' ? output : JSON.stringify(output ?? null)
  return { call, result: { ...result(text), output } }
}
