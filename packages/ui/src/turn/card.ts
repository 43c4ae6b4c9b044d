/** The cards of calls: each call of a step has one, and each call inside a call about which a human is asked. */

import type { PathPart } from '@meanwhile/core'

/**
 * The id of the card of a call: the ids of the calls that contain it and its own, joined by `/`. So the card of a call of a step has the id of the call,
 * except that `/` and `%` are escaped in every id: no two paths have the same card.
 */
export function cardIdOf(path: readonly Pick<PathPart, 'callId'>[]): string {
  return path.map(({ callId }) => callId.replace(/[%/]/g, encodeURIComponent)).join('/')
}

/** The calls that lead to a call, and the call itself, from the members that its events have. */
export function wholePath({ path = [], ...call }: CallMembers): readonly Pick<PathPart, 'callId'>[] {
  return [...path, call].flatMap(({ makers = [], callId }) => [...makers, callId].map((id) => ({ callId: id })))
}

type CallMembers = Pick<PathPart, 'callId' | 'makers'> & { readonly path?: readonly PathPart[] }

/** The title of a card of a call inside a call: the names of the calls, outermost first. */
export function titleOf(path: readonly PathPart[]): string {
  return path.map(({ agent }) => agent).join(' › ')
}

/** Whether the card may belong to a call with this id, in any path. */
export function isCardOf(cardId: string, callId: string): boolean {
  const last = cardIdOf([{ callId }])
  return cardId === last || cardId.endsWith(`/${last}`)
}
