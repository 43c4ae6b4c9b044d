/** What makes a list of messages a history: messages indeed, frozen to their leaves. */

import { InputError } from '../errors.ts'
import { callsOf, type Message, type ToolCall } from '../message.ts'
import { hasParts } from '../message-shape.ts'

/**
 * Messages known to be frozen to their leaves; a frozen surface proves nothing. No more than they: each object remembered so costs
 * every garbage collection.
 */
const frozen = new WeakSet<object>()

/** Freezes a plain value to its leaves. */
export function freeze<T>(value: T): T {
  freezeLeaves(value)
  return value
}

/** `met`: what was found frozen on the way, which ends circles. */
function freezeLeaves(value: unknown, met?: Set<object>): Set<object> | undefined {
  if (typeof value !== 'object' || value === null || frozen.has(value) || met?.has(value)) return met
  let now = met
  if (Object.isFrozen(value)) now = (met ?? new Set()).add(value)
  else Object.freeze(value)
  for (const member of Object.values(value)) now = freezeLeaves(member, now)
  if (isMessage(value)) frozen.add(value)

  return now
}

/** The input of a run as frozen messages of its own: the caller's are never changed (A5). */
export function inputMessages(input: string | readonly Message[]): readonly Message[] {
  checkInput(input)
  if (typeof input === 'string') return freeze([{ role: 'user', content: input }])
  return freeze(input.map((message, index) => (frozen.has(message) ? message : ownMessage(message, 'input', index))))
}

/** A message from outside as one of the run's own. Throws {@link InputError} unless it is one, to its parts, and JSON. */
export function ownMessage(message: Message, given: InputError['given'], index?: number): Message {
  if (!isMessage(message) || !hasParts(message)) throw new InputError(given, 'malformed', index, message)
  try {
    return freeze(structuredClone(message))
  } catch (cause) {
    // It holds a function, or bytes: what is no JSON.
    throw new InputError(given, 'malformed', index, undefined, { cause })
  }
}

function checkInput(input: unknown): void {
  if (typeof input !== 'string' && !Array.isArray(input)) throw new InputError('input', 'malformed')
  if (input.length === 0) throw new InputError('input', 'empty')
}

/** Whether a value from outside has the shape of a message. */
export function isMessage(value: unknown): value is Message {
  if (typeof value !== 'object' || value === null || !('role' in value) || !('content' in value)) return false
  if (value.role === 'user' && typeof value.content === 'string') return true
  return ['user', 'assistant', 'tool'].includes(value.role as string) && Array.isArray(value.content)
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
