/** Detects that a hook has changed the message that the model has just written: the thread shows what the run goes on with. */

import type { AssistantMessage, Message } from '@meanwhile/core'
import type { MessageChangedEvent, ThreadEventBody } from './thread-events.ts'

export class ChangedMessages {
  /** The message that the model has just written. */
  #written: { readonly id: string; readonly text: string } | undefined

  /** Returns what follows from an event of the turn. */
  read(event: ThreadEventBody): readonly MessageChangedEvent[] {
    if ('path' in event && event.path) return []
    switch (event.type) {
      case 'message': {
        const { message, messageId: id = '' } = event
        this.#written = message.role === 'assistant' ? { id, text: JSON.stringify(message) } : undefined
        return []
      }
      case 'history-replaced':
        return this.#replaced(event.messages)
      case 'tool-start':
      case 'step-end':
        this.#written = undefined
        return []
      default:
        return []
    }
  }

  /** A history that `afterModel` returns ends with the message of the model. */
  #replaced(messages: readonly Message[]): readonly MessageChangedEvent[] {
    const message = messages.at(-1)
    const { id: messageId, text } = this.#written ?? {}
    if (messageId === undefined || message?.role !== 'assistant') return []
    const now = JSON.stringify(message)
    if (now === text) return []
    this.#written = { id: messageId, text: now }
    return [{ type: 'message-changed', messageId, message }]
  }
}

/** The events with the messages as hooks have changed them. */
export function shownEvents<Stored extends { readonly event: ThreadEventBody }>(
  events: readonly Stored[],
): readonly Stored[] {
  const changed = new Map<string, AssistantMessage>()
  for (const { event } of events) if (event.type === 'message-changed') changed.set(event.messageId, event.message)
  if (changed.size === 0) return events
  return events.map((stored) => {
    const { event } = stored
    const message = event.type === 'message' && changed.get(event.messageId ?? '')
    return message ? { ...stored, event: { ...event, message } } : stored
  })
}
