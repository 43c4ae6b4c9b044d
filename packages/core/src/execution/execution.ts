/** One execution of a tool's function, as it is known until its span ends. Times: `performance.now()`. */

import type { Invocation } from '../machine/invocation.ts'
import type { CaptureContent } from '../telemetry/content.ts'
import type { OpenSpan } from '../telemetry/spans.ts'
import type { CallEntry } from '../tool-call/call-entry.ts'

export interface Execution {
  readonly open: OpenSpan
  /** It asked for its slot before the model call had stood. */
  readonly early: boolean
  /** What of its input, result and errors the span may hold. */
  readonly capture: CaptureContent
  /** The how-manieth of its call, from 1 (C14). */
  readonly attempt: number
  /** The same for a resume. */
  readonly invocation: Invocation
  /** Aborted with its call, or alone when the wrap that asked for it has left. */
  readonly signal: AbortSignal
  /** When it got its slot, then when the function was called. */
  started: number
  /** Seconds it has waited for its slots. */
  queued: number
  /** How many runs of agents it has begun. */
  agents?: number
  /** The calls its function made. */
  readonly children: CallEntry[]
  /** Of the call's first: seconds from the evidence for it to the function. */
  lag?: number
  /** Absent while it goes on. */
  ended?: number
  error?: unknown
  /** By then its signal was aborted. */
  aborted?: boolean
}

/** The span of a wrap that answered a call itself, and when. */
export interface Answer {
  readonly open: OpenSpan
  readonly ended: number
}
