/** What is known of a durable run. */

import type { PendingInterrupt, UserMessage } from '@meanwhile/core'
import type { ErrorInfo } from './errors.ts'

/** `running`: it is at work, or waits for a worker. `interrupted`: it waits for an answer. The others are ends. */
export type RunStatus = 'running' | 'interrupted' | EndStatus

export type EndStatus = 'cancelled' | 'completed' | 'failed'

export interface DurableRun {
  readonly id: string
  /** The agent's name. */
  readonly agent: string
  readonly status: RunStatus
  /** What waits for an answer; empty unless the run is interrupted. */
  readonly interrupts: readonly PendingInterrupt[]
  /** What ended the run, or why its last answer was refused. */
  readonly error?: ErrorInfo
  /** How often a worker has taken it. */
  readonly attempts: number
  /** Messages that were sent to the run and came too late. Empty until the run has ended. */
  readonly unread: readonly UserMessage[]
  readonly startedAt: Date
  readonly endedAt?: Date
}

/** The run has stopped. If it is interrupted, a reader of its events goes on to wait; else this is the last event. */
export interface RunStopped {
  readonly type: 'run-stopped'
  readonly status: Exclude<RunStatus, 'running'>
  readonly error?: ErrorInfo
}
