/** Defines the status of a tool call. */

import type { Json } from './message.ts'

/** `queued`: its function has not been called. `abandoned`: its function was still running when the run stopped waiting for it. */
export type ToolState = 'queued' | 'running' | 'ok' | 'error' | 'cancelled' | 'timed-out' | 'abandoned'

export interface ToolStatus {
  readonly state: ToolState
  /** The last reported progress, from 0 to 1. It never decreases. */
  readonly progress?: number
  readonly message?: string
  /** The last reported metadata. */
  readonly metadata?: Json
  /** Whether `cancelTool` may abort the call. */
  readonly cancelable: boolean
  /** When its function was first called: milliseconds since the epoch, with fractions. */
  readonly startedAt?: number
  /** A run before the resume executed the call, which may have happened. `startedAt` is only of this run. */
  readonly startedBefore?: true
  /** When the call and all its wraps had ended. If a run before the resume made the call: when the checkpoint was resumed. */
  readonly endedAt?: number
  /**
   * If the call started with the members that its tool needs: how long its function has waited for its whole input, in milliseconds, from the first
   * `await` of `rest`.
   */
  readonly waitedMs?: number
}

/** What a running tool reports: `progress` from 0 to 1. */
export interface Progress {
  readonly progress?: number
  readonly message?: string
  readonly metadata?: Json
}
