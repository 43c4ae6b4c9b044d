/** Makes snapshots that replace the messages of a client with those of a thread. */

import { PROGRESS } from './activities.ts'
import { sameArguments } from './step-messages.ts'
import type { AgUiEvent, AgUiMessage } from './wire.ts'

/** The members of a client's message that matter here. */
export type HeldMessage = Pick<AgUiMessage, 'id' | 'role'>

/**
 * A client applies a snapshot as follows: messages that it has keep their places, others are appended, and messages that the snapshot lacks
 * are dropped, except reasoning if the snapshot has none. So one snapshot is enough only if the client has the first of these messages,
 * in their order.
 */
export function snapshots(held: readonly HeldMessage[], messages: readonly AgUiMessage[]): AgUiEvent[] {
  const named = new Set(messages.map(({ id }) => id))
  const keeps = held.filter(({ id }) => named.has(id))
  const isInOrder = keeps.every(({ id }, index) => messages[index]?.id === id)
  const reasoning = held.filter(({ role }) => role === 'reasoning')
  const keepsReasoning =
    reasoning.some(({ id }) => !named.has(id)) && messages.every(({ role }) => role !== 'reasoning')
  if (isInOrder && !keepsReasoning) return [snapshot(messages)]
  // A client drops reasoning whose id now belongs to another message.
  const dropped = reasoning.map(({ id }): AgUiMessage => ({ id, role: 'assistant', content: '' }))
  return [snapshot(dropped), snapshot([]), snapshot(messages)]
}

function snapshot(messages: readonly AgUiMessage[]): AgUiEvent {
  // Copies, because the messages will still change.
  const copies: AgUiMessage[] = structuredClone([...messages])
  return { type: 'MESSAGES_SNAPSHOT', messages: copies, metadata: OWN_ACTIVITIES }
}

/** Makes the client drop the activities of this package with each snapshot, and keep all others. */
const OWN_ACTIVITIES = { '@ag-ui/client': { authoritativeActivityTypes: [PROGRESS] } }

/** Whether a client has these messages; results of the same step may be in another order. */
export function isUpToDate(held: readonly AgUiMessage[], messages: readonly AgUiMessage[]): boolean {
  const byId = new Map(held.filter(({ role }) => role !== 'activity').map((message) => [message.id, message]))
  if (byId.size !== messages.length) return false
  return messages.every((message) => isSame(byId.get(message.id), message))
}

function isSame(held: AgUiMessage | undefined, message: AgUiMessage): boolean {
  if (held?.role !== message.role || JSON.stringify(held.content) !== JSON.stringify(message.content)) return false
  if (message.role === 'tool')
    return held.role === 'tool' && held.toolCallId === message.toolCallId && isError(held) === isError(message)
  if (message.role !== 'assistant' || held.role !== 'assistant') return true
  const { toolCalls: calls = [] } = message
  const { toolCalls: heldCalls = [] } = held
  // The messages come from outside, so they may be malformed.
  if (!Array.isArray(heldCalls) || heldCalls.length !== calls.length) return false
  return calls.every((call, index) => isSameCall(heldCalls[index], call))
}

type CallOfMessage = NonNullable<Extract<AgUiMessage, { role: 'assistant' }>['toolCalls']>[number]

function isSameCall(
  held: CallOfMessage | undefined,
  { id, function: { name, arguments: text } }: CallOfMessage,
): boolean {
  return held?.id === id && held.function?.name === name && sameArguments(held.function.arguments, text)
}

function isError(message: AgUiMessage): boolean {
  return message.metadata?.isError === true || (message.role === 'tool' && message.error !== undefined)
}
