/** The card of a call that a human is asked about: what its question, an answer and a result make of it, and which events are about it. */

import type { Json, PathPart, PendingInterrupt, ToolMessage } from '@meanwhile/core'
import type { InsideCard } from './thread-events.ts'

/** The members of an event that say which call it is about. */
export interface CallEvent {
  readonly runId: string
  readonly path?: readonly PathPart[]
  readonly makers?: readonly string[]
  readonly callId?: string
  readonly toolName?: string
}

/** The card of a question of `approve`, or of a tool without `execute`. No other question is about an input. */
export function cardOf({ id, address, innerRun, payload }: PendingInterrupt): InsideCard | undefined {
  const calls = address.flatMap((part) => ('callId' in part ? [part] : []))
  const asker = address.at(-1)
  const last = calls.at(-1)
  const { tool, type, name, input, decisions } = Object(payload)
  if (!asker || !last || input === undefined) return undefined
  // A copy of `approve` may have another name.
  const isOfApprove = 'middleware' in asker && (asker.middleware === 'approve' || Array.isArray(decisions))
  const isApproval = isOfApprove && address.at(-2) === last
  const isClientCall = asker === last && type === 'tool-call' && payload !== null && Object(payload).id === last.callId
  const toolName: unknown = isApproval ? tool : isClientCall ? name : undefined
  if (typeof toolName !== 'string') return undefined
  const path = calls.map((call): PathPart => ({ agent: call === last ? toolName : call.tool, callId: call.callId }))
  return {
    path,
    input,
    state: 'asked',
    ...(innerRun !== undefined && { innerRun }),
    ...(isApproval && { approval: id }),
  }
}

/** Whether the call is inside a call. */
export function isInside({ path }: InsideCard): boolean {
  return path.length > 1
}

/** The ids of the calls that lead to a call, and its own, as text: only two runs of agents in one call can make two calls with the same. */
export function keyOf(path: readonly PathPart[]): string {
  return JSON.stringify(path.map(({ callId }) => callId))
}

/** The same for the call of an event. */
export function keyOfEvent({ path = [], makers = [], callId }: CallEvent): string {
  return JSON.stringify([...path.flatMap((part) => [...(part.makers ?? []), part.callId]), ...makers, callId])
}

/** Whether an event may be about the call of the card, if it has the same key. */
export function isOfCard({ runId, toolName }: CallEvent, { path, innerRun = runId }: InsideCard): boolean {
  return runId === innerRun && toolName === path.at(-1)?.agent
}

export function denied(card: InsideCard, reason?: string): InsideCard {
  return { ...card, state: 'denied', ...(reason !== undefined && { reason }) }
}

export function ended(card: InsideCard, message: Omit<ToolMessage, 'callId' | 'name'>): InsideCard {
  const { agent: name = '', callId = '' } = card.path.at(-1) ?? {}
  return { ...card, state: 'ended', result: { ...message, callId, name } }
}

/** The card of a call that its caller has executed. */
export function endedWith(card: InsideCard, output: Json): InsideCard {
  const text = typeof output === 'string' ? output : JSON.stringify(output)
  return ended(card, { role: 'tool', content: [{ type: 'text', text }], output })
}
