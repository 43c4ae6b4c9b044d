/** What was decided about a call that needed approval: the data of an event, and attributes of the call's span. */

import type { CaptureContent, Json, SemanticAttributes } from '@meanwhile/core'
import type { Approval } from './approval.ts'

/** The data of the event `custom` with the name `approval`. Threads keep this event. */
export type DecisionRecord = {
  readonly decision: Approval['decision']
  /** The input that was allowed, edited or not. Absent if the call does not run. */
  readonly input?: Json
  /** Why it does not run: the reason for a denial, or what is wrong with an edited input. */
  readonly reason?: string
  /** Who decided, as the answer says. */
  readonly by?: string
}

/** The name of the event. */
export const DECIDED = 'approval'

/** `input`: what the call runs with; undefined if it does not run. `reason`: why not, if a reason is known. */
export function decisionRecord({ decision, by }: Approval, input: Json | undefined, reason?: string): DecisionRecord {
  return {
    decision,
    ...(input !== undefined && { input }),
    ...(reason !== undefined && { reason }),
    ...(by !== undefined && { by }),
  }
}

/** The decision is on the span; who decided is content. The span of a call has the input already, and a call that does not run has no span. */
export function decisionAttributes({ decision, by }: DecisionRecord, capture: CaptureContent): SemanticAttributes {
  const attribute = 'meanwhile.approval.by'
  const recorded = capture === true ? by : capture && by !== undefined ? captured(capture, attribute, by) : undefined
  return {
    'meanwhile.approval.decision': decision,
    ...(typeof recorded === 'string' && { [attribute]: recorded }),
  }
}

/** Telemetry never throws into a run. */
function captured(capture: Exclude<CaptureContent, boolean>, attribute: string, value: string): unknown {
  try {
    const recorded = capture(attribute, value)
    if (recorded instanceof Promise) recorded.catch(() => undefined)
    return recorded
  } catch {
    return undefined
  }
}
