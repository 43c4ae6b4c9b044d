/** Defines the status of a tool call. */

import type { Json } from './message.ts'

/** `queued`: its function has not been called. `abandoned`: its function was still running when the run stopped waiting for it. */
export type ToolState = 'queued' | 'running' | 'ok' | 'error' | 'cancelled' | 'timed-out' | 'abandoned'

/** The state of a tool call at one moment. */
export interface ToolStatus {
  /** What the call is doing, or how it ended. */
  readonly state: ToolState
  /** The last reported progress, from 0 to 1. It never decreases. */
  readonly progress?: number
  /** The last reported message. */
  readonly message?: string
  /** The last reported metadata. */
  readonly metadata?: Json
  /** Whether `cancelTool` may abort the call. */
  readonly cancelable: boolean
  /** When its function was first called: milliseconds since the epoch, with fractions. */
  readonly startedAt?: number
  /** The call was executed before the resume and may have happened. `startedAt` is only a time since the resume. */
  readonly startedBefore?: true
  /** When the call and its wraps had ended, in milliseconds since the epoch. If that was before the resume: when the run was resumed. */
  readonly endedAt?: number
  /**
   * For a call that started with the members that its tool needs: how long its function waited for the whole input, in milliseconds, from the first
   * `await` of `rest`.
   */
  readonly waitedMs?: number
}

/** What a running tool reports: `progress` from 0 to 1. */
export interface Progress {
  /** From 0 to 1. */
  readonly progress?: number
  /** What the tool is doing. */
  readonly message?: string
  /** Data for the reader of the events. */
  readonly metadata?: Json
}

/** What is said of a tool that yields anything else. */
export const NO_PROGRESS = 'yielded something other than progress: { progress?, message?, metadata? }'
