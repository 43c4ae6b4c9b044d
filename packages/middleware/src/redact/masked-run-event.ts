/** What `redact({ persist: true })` masks in each event of a run. */

import type { AgentEvent, Json, Message } from '@meanwhile/core'
import { DECIDED } from '../decision-record.ts'
import { maskedData } from './masked-data.ts'
import type { MaskedMessages } from './masked-messages.ts'
import type { Masker } from './masker.ts'

/**
 * Returns the event as its reader gets it. A new type of events does not compile without its case. What belongs to this
 * run is masked where it is made; what belongs to a run inside a call, only if its own agent has `redact`.
 */
export function maskedRunEvent(event: AgentEvent, masker: Masker, messages: MaskedMessages): AgentEvent {
  const isInside = event.path !== undefined
  // The hook before the next model call masks a user message in the history, such as feedback or the result of a background call.
  const told = (message: Message) => (isInside || message.role === 'user' ? messages.one(message) : message)
  switch (event.type) {
    case 'tool-progress':
      return {
        ...event,
        ...(event.message !== undefined && { message: masker.mask(event.message) }),
        ...(event.metadata !== undefined && { metadata: maskedData(masker, event.metadata) as Json }),
      }
    case 'question':
      return { ...event, payload: maskedData(masker, event.payload) as Json }
    case 'answer-rejected': {
      const { feedback } = event
      return { ...event, feedback: typeof feedback === 'string' ? masker.mask(feedback) : messages.history(feedback) }
    }
    case 'warning':
      return { ...event, message: masker.mask(event.message) }
    // What is decided stays stored in threads. The data of other events is their sender's.
    case 'custom':
      return event.name === DECIDED ? { ...event, data: maskedData(masker, event.data) } : event
    // The wraps of a background call have returned when its work ends.
    case 'background-end':
      return { ...event, message: messages.result(event.message) }
    case 'tool-settled':
    case 'tool-end':
      return isInside ? { ...event, message: messages.result(event.message) } : event
    case 'message':
      return { ...event, message: told(event.message) }
    case 'history-replaced':
    case 'step-end':
      return { ...event, messages: event.messages.map(told) }
    // Masked in the model calls of each run, because a secret may be cut into pieces.
    case 'text-delta':
    case 'reasoning-delta':
    // Tools get what the model wrote.
    case 'tool-input-start':
    case 'tool-input-delta':
    case 'tool-input-ready':
    case 'tool-input-closed':
    case 'tool-call':
    case 'tool-start':
    // An error is passed on unchanged.
    case 'attempt-failed':
    // These say nothing.
    case 'run-start':
    case 'run-end':
    case 'step-start':
    case 'attempt-start':
    case 'attempt-cancelled':
    case 'tool-entered':
    case 'tool-committed':
    case 'tool-discarded':
      return event
  }
}
