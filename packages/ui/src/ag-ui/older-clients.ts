/** Changes events for clients before AG-UI 1.0. They end with an error at a value that they do not know. */

import type { AgUiEvent, AgUiMessage, AgUiPart } from './wire.ts'

/** The event in a form that a client before AG-UI 1.0 reads. */
export function olderEvent(event: AgUiEvent): AgUiEvent {
  switch (event.type) {
    case 'RUN_FINISHED': {
      const { outcome, ...finished } = event
      const isKnown = outcome?.type === 'interrupt' || (outcome?.type === 'success' && !outcome.pendingToolCallIds)
      return isKnown ? event : finished
    }
    case 'TOOL_CALL_RESULT':
      return { ...event, content: textOf(event.content) }
    case 'MESSAGES_SNAPSHOT':
      return { ...event, messages: event.messages.map(olderMessage) }
    default:
      return event
  }
}

function olderMessage(message: AgUiMessage): AgUiMessage {
  return message.role === 'tool' ? { ...message, content: textOf(message.content) } : message
}

/** Such a client reads no files in a result: their media types stand in brackets. */
function textOf(content: string | readonly AgUiPart[]): string {
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.source.mimeType ?? part.type}]`)).join('')
}
