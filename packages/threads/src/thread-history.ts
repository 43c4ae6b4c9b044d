/** The history that the next run begins with, and the messages that count when a run goes on from its checkpoint. */

import type { Message } from '@meanwhile/core'
import type { ThreadEventBody } from './thread-events.ts'
import type { StoredEvent } from './thread-store.ts'

/** The history after these events. */
export function historyOf(events: readonly StoredEvent[]): readonly Message[] {
  let history: Message[] = []
  for (const { event } of events) {
    if (isReplacement(event)) history = [...event.messages]
    else if (event.type === 'turn-start' || event.type === 'message') history.push(event.message)
  }
  return history
}

function isReplacement(event: ThreadEventBody) {
  return event.type === 'history-replaced'
}

/** What makes the stored events those of a checkpoint. */
export interface Reconciled {
  /** Events that count no more. */
  readonly retracted: readonly StoredEvent[]
  /** Messages that are not among the events. */
  readonly missing: readonly Message[]
  /** The history itself, if the events do not lead to it: a hook had rewritten it, and that was not stored. */
  readonly replaced?: readonly Message[]
}

/**
 * Compares kept events with the history of a checkpoint. Events and checkpoints are not stored in the same moment, so that after the end of
 * a process either may be ahead.
 *
 * @param before What the turn began with: the events up to its `turn-start`.
 * @param own What the turn has told since.
 */
export function reconcile(
  before: readonly StoredEvent[],
  own: readonly StoredEvent[],
  history: readonly Message[],
): Reconciled {
  const texts = history.map((message) => JSON.stringify(message))
  for (let count = own.length; count >= 0; count--) {
    const told = historyOf([...before, ...own.slice(0, count)])
    if (told.length <= texts.length && told.every((message, index) => JSON.stringify(message) === texts[index]))
      return { retracted: own.slice(count).filter(hasMessages), missing: history.slice(told.length) }
  }
  const told = new Set(
    [...before, ...own].flatMap(({ event }) => ('message' in event ? [JSON.stringify(event.message)] : [])),
  )
  const last = texts.findLastIndex((text) => told.has(text))
  return { retracted: [], missing: last < 0 ? [] : history.slice(last + 1), replaced: history }
}

function hasMessages({ event }: StoredEvent): boolean {
  return event.type === 'message' || event.type === 'history-replaced'
}
