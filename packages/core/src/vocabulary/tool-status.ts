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
  /** A process before the resume executed the call, which may have happened. `startedAt` is the time in this process. */
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
  readonly progress?: number
  readonly message?: string
  readonly metadata?: Json
}
