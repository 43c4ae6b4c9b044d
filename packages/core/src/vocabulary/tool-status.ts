/** How a call is doing. */

import type { Json } from './message.ts'

/**
 * `queued`: its function has not been entered. `abandoned`: it went on when it was no longer waited for, whatever had stopped it.
 */
export type ToolState = 'queued' | 'running' | 'ok' | 'error' | 'cancelled' | 'timed-out' | 'abandoned'

export interface ToolStatus {
  readonly state: ToolState
  /** As it was reported last: from 0 to 1, never going down. */
  readonly progress?: number
  readonly message?: string
  /** As it was reported last. */
  readonly metadata?: Json
  /** Whether its tool lets `cancelTool` abort it. */
  readonly cancelable: boolean
  /** When its function was entered first. Milliseconds since the epoch, with fractions. */
  readonly startedAt?: number
  /** An earlier run of the checkpoint executed it, and it may have happened: `startedAt` is of this run alone. */
  readonly startedBefore?: true
  /** When the call had settled, all its wraps out; of one that an earlier run of a checkpoint made, when that was resumed. */
  readonly endedAt?: number
  /**
   * Of one that started with the members its tool needs: how many milliseconds its function has waited for its whole input, from its
   * first `await` of `rest` on.
   */
  readonly waitedMs?: number
}

/** What a working tool reports: `progress` from 0 to 1. */
export interface Progress {
  readonly progress?: number
  readonly message?: string
  readonly metadata?: Json
}
