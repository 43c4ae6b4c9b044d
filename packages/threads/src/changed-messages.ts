/** Detects that a hook has changed the message that the model has just written: the thread shows what the run goes on with. */

import type { AssistantMessage } from '@meanwhile/core'
import type { ThreadEventBody } from './thread-events.ts'

export class ChangedMessages {
  /** The message that the model has just written. */
  #written: { readonly id: string; readonly text: string } | undefined

  /**
   * Returns the event. If it replaces the history by one in which the message that the model has just written is another one, it has the id of that
   * message: a history that `afterModel` returns ends with the message of the model.
   */
  named<Event extends ThreadEventBody>(event: Event): Event {
    if ('path' in event && event.path) return event
    switch (event.type) {
      case 'message': {
        const { message, messageId: id = '' } = event
        this.#written = message.role === 'assistant' ? { id, text: JSON.stringify(message) } : undefined
        return event
      }
      case 'history-replaced': {
        const message = event.messages.at(-1)
        const { id, text } = this.#written ?? {}
        if (id === undefined || message?.role !== 'assistant') return event
        const now = JSON.stringify(message)
        this.#written = { id, text: now }
        return now === text ? event : { ...event, messageId: id }
      }
      case 'tool-start':
      case 'step-end':
        this.#written = undefined
        return event
      default:
        return event
    }
  }
}

/** The message that a hook has changed, and its id. Undefined: the event changes none. */
export function changedBy(
  event: ThreadEventBody,
): { readonly messageId: string; readonly message: AssistantMessage } | undefined {
  if (event.type !== 'history-replaced' || event.path || event.messageId === undefined) return undefined
  const message = event.messages.at(-1)
  return message?.role === 'assistant' ? { messageId: event.messageId, message } : undefined
}

/** The events with the messages as hooks have changed them. */
export function shownEvents<Stored extends { readonly event: ThreadEventBody }>(
  events: readonly Stored[],
): readonly Stored[] {
  const changed = new Map<string, AssistantMessage>()
  for (const { event } of events) {
    const change = changedBy(event)
    if (change) changed.set(change.messageId, change.message)
  }
  if (changed.size === 0) return events
  return events.map((stored) => {
    const { event } = stored
    const message = event.type === 'message' && changed.get(event.messageId ?? '')
    return message ? { ...stored, event: { ...event, message } } : stored
  })
}
