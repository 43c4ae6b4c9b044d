/** The decisions about approvals in a thread: `approve` of `@meanwhile/middleware` tells them in events, which stay stored. */

import type { Json, PathPart } from '@meanwhile/core'
import type { ThreadEventBody } from './thread-events.ts'
import type { StoredEvent } from './thread-store.ts'

/** A decision about a call that needed approval. */
export interface ThreadDecision {
  /** The id of the turn. */
  readonly turn: string
  /** The id of the call. */
  readonly callId: string
  /** The name of its tool. */
  readonly toolName: string
  /** Of a call of an agent inside a call: the calls that contain it, outermost first. */
  readonly path?: readonly PathPart[]
  /** Of a call that tools have made: the ids of the calls of these tools, outermost first. The model, or an agent in `path`, has made the first one. */
  readonly makers?: readonly string[]
  /** What was decided. */
  readonly decision: 'allow' | 'deny' | 'edit'
  /** The input that was allowed, edited or not. Absent if the call did not run. */
  readonly input?: Json
  /** Why it did not run: the reason for a denial, or what was wrong with an edited input. */
  readonly reason?: string
  /** Who decided, as the answer says: `by` of the chat handlers. */
  readonly by?: string
}

type DecisionEvent = ThreadEventBody & { readonly type: 'custom' }

export function isDecision(event: ThreadEventBody): event is DecisionEvent {
  return event.type === 'custom' && event.source === 'approve' && event.name === 'approval'
}

/**
 * The decisions in these events, in their order. A process that took over the turn may have told a decision again. One call may have several: a wrap
 * may pass it on twice, and inner calls of two calls may have one id.
 */
export function decisionsIn(events: readonly StoredEvent[]): readonly ThreadDecision[] {
  const decisions = events.flatMap(({ turn, event }): [string, ThreadDecision][] => {
    if (!isDecision(event)) return []
    const { callId = '', toolName = '', step, path, makers, data } = event
    // Any tool may send an event of this name.
    if (!isRecordOfDecision(data)) return []
    const decided = { ...data, turn, callId, toolName, ...(path && { path }), ...(makers && { makers }) }
    return [[JSON.stringify([turn, step, path, makers, callId, data]), decided]]
  })
  return [...new Map(decisions).values()]
}

function isRecordOfDecision(data: unknown): data is Pick<ThreadDecision, 'decision' | 'input' | 'reason' | 'by'> {
  return ['allow', 'deny', 'edit'].includes(Object(data).decision)
}
