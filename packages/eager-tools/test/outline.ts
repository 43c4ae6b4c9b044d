/** Shortens events so that all events of a run can be compared. */

import type { AgentEvent, Message, ToolMessage } from '@meanwhile/core'

/** Without what differs from run to run, and without the savings. */
export function bare(events: readonly AgentEvent[]): object[] {
  return events.map((event) => {
    const { runId: _, timestamp: __, ...rest } = event as AgentEvent & { readonly timestamp?: number }
    return rest.type === 'run-end' ? { ...rest, result: { ...rest.result, savings: undefined } } : rest
  })
}

/** `type`, the call, and the members that matter. Members that follow from other events are omitted. */
export function outline(events: readonly AgentEvent[]): string[] {
  return events.flatMap((event) => (IMPLIED.has(event.type) ? [] : [[event.type, ...details(event)].join(' ')]))
}

const IMPLIED: ReadonlySet<string> = new Set(['message', 'tool-entered', 'tool-settled'])

/** The same, only for events of running calls. */
export function toolOutline(events: readonly AgentEvent[]): string[] {
  return outline(events.filter((event) => 'callId' in event))
}

/** The results of the calls in a history, in order. */
export function results(messages: readonly Message[] = []): readonly ToolMessage[] {
  return messages.filter((message) => message.role === 'tool')
}

function details(event: AgentEvent): readonly string[] {
  switch (event.type) {
    case 'tool-start':
      return [event.callId, ...mark(event)]
    case 'tool-progress':
      return [event.callId, event.message ?? String(event.progress), ...mark(event)]
    case 'custom':
      return [event.name, ...mark(event)]
    case 'tool-committed':
      return [event.callId, ...(event.startedAs === undefined ? [] : [`started as ${event.startedAs}`])]
    case 'tool-discarded':
      return [event.callId, event.cause]
    case 'tool-end':
      return [event.callId, ...(event.message.isError ? ['error'] : [])]
    case 'tool-input-start':
    case 'tool-input-delta':
    case 'tool-input-ready':
      return [event.id]
    case 'tool-input-closed':
    case 'tool-call':
      return [event.call.id]
    case 'attempt-start':
      return [String(event.attempt)]
    case 'attempt-failed':
      return [String(event.attempt), event.next]
    case 'warning':
      return [event.code]
    default:
      return []
  }
}

function mark({ provisional }: { readonly provisional?: true }): readonly string[] {
  return provisional ? ['provisional'] : []
}
