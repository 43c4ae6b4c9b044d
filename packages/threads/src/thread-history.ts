/** Builds the history of a run from the events of its thread, and compares those events with the checkpoint of a run. */

import type { Message, ToolMessage } from '@meanwhile/core'
import { openCalls } from '@meanwhile/core/calls'
import type { ThreadEventBody } from './thread-events.ts'
import type { StoredEvent, ThreadStore, TurnRecord } from './thread-store.ts'

/** The kept events from which the history of a turn is built. */
export interface TurnEvents {
  /** Up to the `turn-start` of the turn. */
  readonly before: readonly StoredEvent[]
  /** After the `turn-start` of the turn. */
  readonly own: readonly StoredEvent[]
}

/** Reads the kept events from which the history of a turn is built. */
export async function turnEvents(
  store: ThreadStore,
  thread: string,
  { startSeq = 0, historyAt = 0 }: TurnRecord,
): Promise<TurnEvents> {
  const kept = await store.events(thread, { after: historyAt - 1, keptOnly: true })
  return { before: kept.filter(({ seq }) => seq <= startSeq), own: kept.filter(({ seq }) => seq > startSeq) }
}

/** Returns the history after these events: the messages since it was last replaced. */
export function historyOf(events: readonly StoredEvent[]): readonly Message[] {
  const from = events.findLastIndex(({ event }) => event.type === 'history-replaced')
  return events.slice(Math.max(from, 0)).flatMap(({ event }) => messagesIn(event))
}

function messagesIn(event: ThreadEventBody): readonly Message[] {
  if (event.type === 'history-replaced') return event.messages
  return event.type === 'turn-start' || event.type === 'message' ? [event.message] : []
}

/** Returns a result for each call of the last assistant message that has none. `text`: what the model reads as the result. */
export function missingResults(messages: readonly Message[], text: string): readonly ToolMessage[] {
  return openCalls(messages).map(({ id, name }) => {
    return { role: 'tool', callId: id, name, content: [{ type: 'text', text }], isError: true }
  })
}

/** The changes that make the stored events match a checkpoint. */
export interface Reconciled {
  /** Events that are no longer valid. */
  readonly retracted: readonly StoredEvent[]
  /** Messages of the checkpoint that no event has. */
  readonly missing: readonly Message[]
  /** The whole history of the checkpoint. Present if a hook has replaced the history and its `history-replaced` event was not stored. */
  readonly replaced?: readonly Message[]
}

/** Compares kept events with the history of a checkpoint. They are not stored at the same moment, so after a crash one may be newer than the other. */
export function reconcile(
  before: readonly StoredEvent[],
  own: readonly StoredEvent[],
  history: readonly Message[],
): Reconciled {
  const texts = history.map((message) => JSON.stringify(message))
  // `count`: the number of messages in the history after the events so far. `isBeginning`: whether the history of the checkpoint begins with them.
  let count = 0
  let isBeginning = true
  let last = before.length === 0 ? { events: 0, messages: 0 } : undefined
  for (const [index, { event }] of [...before, ...own].entries()) {
    if (event.type === 'history-replaced') {
      count = 0
      isBeginning = true
    }
    for (const message of messagesIn(event)) {
      isBeginning &&= JSON.stringify(message) === texts[count]
      count++
    }
    const events = index + 1 - before.length
    if (isBeginning && events >= 0) last = { events, messages: count }
  }
  if (last) return { retracted: own.slice(last.events).filter(isOfHistory), missing: history.slice(last.messages) }
  const emitted = new Set(
    [...before, ...own].flatMap(({ event }) => ('message' in event ? [JSON.stringify(event.message)] : [])),
  )
  const known = texts.findLastIndex((text) => emitted.has(text))
  return { retracted: [], missing: known < 0 ? [] : history.slice(known + 1), replaced: history }
}

/** Whether the event is only valid together with the messages before it. */
function isOfHistory({ event }: StoredEvent): boolean {
  return event.type === 'message' || event.type === 'history-replaced' || event.type === 'inside'
}
