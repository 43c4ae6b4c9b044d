/** An item in the output of a Responses stream, as far as it is known. */

import type { TwinCall } from './twin-calls.ts'
import { idIn } from './wire-values.ts'

/** The members that identify an item in an event. */
export interface Carried {
  readonly type: string
  readonly id?: unknown
  readonly call_id?: unknown
  readonly name?: string | null | undefined
  readonly arguments?: unknown
}

/** The members of calls stay empty for all other items. */
export interface Item extends TwinCall<Item> {
  /** Missing if it was not announced. */
  type?: string
  /** Its own id, which events refer to. */
  id?: string
  callId?: string
  /** Where it was announced. */
  place?: number
  /** Whether its arguments have ended; without any, they may still come. */
  ended: boolean
  /** Whether the whole item has arrived. */
  done: boolean
  /** Whether the host has run it. */
  isRun?: boolean
  /** Whether its item ended as incomplete. */
  isCut?: boolean
  /** The arguments it began with: usually empty, but all of them if no others follow (qR10). */
  given?: string
}

/** What an error states about the call. */
export function identityOf({ callId, name }: Item): {
  readonly id: string | undefined
  readonly name: string | undefined
} {
  return { id: callId, name }
}

/** Whether this call is complete. */
export function isOver({ isSealed, done }: Item): boolean {
  return done || isSealed
}

export function isCall({ type }: Item): boolean {
  return type === 'function_call'
}

/** Whether the item in the event is a call of another name. */
export function isOfOther(known: Item, { name }: Carried): boolean {
  return isCall(known) && known.callId !== undefined && !!known.name && !!name && known.name !== name
}

/** Whether the call has ended, and the one in the event has other arguments. */
export function saysOther(known: Item, { arguments: text }: Carried): boolean {
  if (typeof text !== 'string' || !text || !known.isSealed) return false
  return !known.input.means(text)
}

export function fits(item: Item, { type, call_id }: Carried): boolean {
  const callId = idIn(call_id)
  const otherCall = item.callId !== undefined && callId !== undefined && item.callId !== callId
  return !otherCall && (item.type === undefined || item.type === type)
}
