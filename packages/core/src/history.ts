/** What makes a list of messages a history: frozen, and every call paired with its result. */

import { HistoryError, InputError } from './errors.ts'
import { callsOf, type Message, type ToolCall } from './message.ts'

/** Freezes a plain value to its leaves. What is frozen already is taken to be so to its leaves. */
export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const member of Object.values(value)) freeze(member)
  return value
}

/** The input of a run as frozen messages of its own: the caller's are never changed (A5). */
export function inputMessages(input: string | readonly Message[]): readonly Message[] {
  if (input.length === 0) throw new InputError('the input is empty')
  if (typeof input === 'string') return [freeze({ role: 'user', content: input })]
  return input.map((message) => (Object.isFrozen(message) ? message : freeze(structuredClone(message))))
}

/** Throws {@link HistoryError} unless each call has exactly one result after it, and each result its call (A15). */
export function checkPairs(messages: readonly Message[]): void {
  const open = new Set<string>()
  const seen = new Set<string>()
  const wrong: string[] = []
  for (const message of messages) {
    if (message.role === 'assistant') {
      for (const { id } of callsOf(message)) {
        if (seen.has(id)) wrong.push(id)
        seen.add(id)
        open.add(id)
      }
    } else if (message.role === 'tool' && !open.delete(message.callId)) wrong.push(message.callId)
  }
  wrong.push(...open)
  if (wrong.length > 0) throw new HistoryError([...new Set(wrong)])
}

/** The calls of a history's last assistant message that have no result yet. */
export function openCalls(messages: readonly Message[]): ToolCall[] {
  const index = messages.findLastIndex((message) => message.role === 'assistant')
  const last = messages[index]
  if (last?.role !== 'assistant') return []
  const answered = new Set(messages.slice(index).map((message) => message.role === 'tool' && message.callId))
  return callsOf(last).filter((call) => !answered.has(call.id))
}

/** The ids of all calls in a history. */
export function callIds(messages: readonly Message[]): string[] {
  return messages.flatMap((message) =>
    message.role === 'assistant' ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.id] : [])) : [],
  )
}
