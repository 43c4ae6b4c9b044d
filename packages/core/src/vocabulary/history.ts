/** Checks a list of messages and deep-freezes it as a history. */

import { InputError } from './errors.ts'
import { hashOf } from './hash.ts'
import { isRecord } from './json.ts'
import { DEEPEST, extentOf, isObject } from './json-text.ts'
import { type AssistantMessage, callsOf, type Message, type ToolCall, type UserMessage } from './message.ts'
import { hasParts } from './message-shape.ts'

/**
 * Messages that are frozen with everything inside; `Object.isFrozen` only sees the outermost level. Only messages are stored here, because each entry
 * of a `WeakMap` slows down garbage collection. The value, once it was needed: the message as JSON, or the hash of a message that is JSON.
 */
const frozen = new WeakMap<object, Message | string | undefined>()

/** The maximum nesting of a message: its own levels, plus those of the input, output or metadata in it. */
const DEEPEST_MESSAGE = DEEPEST + 8

/** Freezes a plain value of any depth with everything inside. */
export function freeze<T>(value: T): T {
  const left: unknown[] = [value]
  /** The frozen objects visited so far, so that circular values end. */
  let met: Set<object> | undefined
  const messages: Message[] = []
  while (left.length > 0) {
    const one = left.pop()
    if (!isObject(one) || frozen.has(one) || met?.has(one)) continue
    if (Object.isFrozen(one)) met = (met ?? new Set()).add(one)
    else Object.freeze(one)
    if (isMessage(one)) messages.push(one)
    for (const member of Object.values(one)) if (typeof member === 'object') left.push(member)
  }
  for (const message of messages) frozen.set(message, undefined)
  return value
}

/** Returns a frozen message as frozen JSON: always the same object, so that a save need not copy the history. */
export function jsonOf(message: Message): Message {
  const known = frozen.get(message)
  if (typeof known === 'string') return message
  const json = known ?? freeze(JSON.parse(JSON.stringify(message)) as Message)
  frozen.set(message, json)
  return json
}

/** Returns the hash of a message that is JSON; of a frozen one always the same, so that a save need not read the history. */
export function messageHash(message: Message): string {
  const known = frozen.get(message)
  const hash = typeof known === 'string' ? known : hashOf(message)
  if (!known && frozen.has(message)) frozen.set(message, hash)
  return hash
}

/** Returns the input of a run as frozen messages. The caller's messages are not changed. */
export function inputMessages(input: string | readonly Message[]): readonly Message[] {
  if (typeof input !== 'string' && !Array.isArray(input)) throw new InputError('input', 'malformed')
  if (input.length === 0) throw new InputError('input', 'empty')
  if (typeof input === 'string') return freeze([{ role: 'user', content: input }])
  return freeze(input.map((message, index) => (frozen.has(message) ? message : ownMessage(message, 'input', index))))
}

/** Returns a frozen copy of a user message; a text becomes one. Throws {@link InputError} if it is not one, is empty, or cannot become JSON. */
export function userMessage(given: string | UserMessage): UserMessage {
  const message = ownMessage(typeof given === 'string' ? { role: 'user', content: given } : given, 'message')
  if (message.role !== 'user') throw new InputError('message', 'malformed', undefined, message)
  if (message.content.length === 0) throw new InputError('message', 'empty')
  return message
}

/** Returns a frozen copy of a message from outside. Throws {@link InputError} if it is not a valid message, or cannot be written as JSON. */
function ownMessage(message: Message, given: InputError['given'], index?: number): Message {
  if (!isMessage(message) || !hasParts(message)) throw new InputError(given, 'malformed', index, message)
  try {
    if (extentOf(message).levels > DEEPEST_MESSAGE) throw new TypeError('it is nested too deep')
    JSON.stringify(message)
    return freeze(structuredClone(message))
  } catch (cause) {
    // It contains a function, a bigint or bytes, or is circular.
    throw new InputError(given, 'malformed', index, undefined, { cause })
  }
}

/** Whether a value from outside has the shape of a message. */
export function isMessage(value: unknown): value is Message {
  if (!isRecord(value)) return false
  if (value.role === 'user' && typeof value.content === 'string') return true
  return ['user', 'assistant', 'tool'].includes(value.role as string) && Array.isArray(value.content)
}

/** Whether a value from outside is a list of messages, to their parts. */
export function isHistory(value: unknown): boolean {
  return Array.isArray(value) && [...value].every((one) => isMessage(one) && hasParts(one))
}

/** Whether a value from outside is a message of a model, to its parts. */
export function isAssistantMessage(value: unknown): value is AssistantMessage {
  return isMessage(value) && value.role === 'assistant' && hasParts(value)
}

/** Returns the calls of the history's last assistant message that have no result yet. */
export function openCalls(messages: readonly Message[]): ToolCall[] {
  const last = messages.slice(messages.findLastIndex((message) => message.role === 'assistant'))
  const answered = new Set(last.map((message) => message.role === 'tool' && message.callId))
  return last.flatMap(callsOf).filter((call) => !answered.has(call.id))
}

/** Returns the ids of all calls in a history. */
export function callIds(messages: readonly Message[]): string[] {
  const parts = messages.flatMap(({ role, content }) => (role === 'assistant' ? content : []))
  return parts.flatMap((part) => (part.type === 'tool-call' ? [part.id] : []))
}
