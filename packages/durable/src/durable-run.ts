/** The state of a durable run, as `get` returns it. */

import type { PendingInterrupt, UserMessage } from '@meanwhile/core'
import type { ErrorInfo } from './errors.ts'

/** `running`: the run is running, or waits for a worker. `interrupted`: it waits for an answer. The others are ends. */
export type RunStatus = 'running' | 'interrupted' | EndStatus

export type EndStatus = 'cancelled' | 'completed' | 'failed'

export interface DurableRun {
  readonly id: string
  /** The agent's name. */
  readonly agent: string
  readonly status: RunStatus
  /** The questions that wait for an answer; empty unless the run is interrupted. */
  readonly interrupts: readonly PendingInterrupt[]
  /** The error that ended the run, or the reason why its last answer was refused. */
  readonly error?: ErrorInfo
  /** How many times a worker has taken the run. */
  readonly attempts: number
  /** Messages that were sent to the run too late to be read. Empty until the run has ended. */
  readonly unread: readonly UserMessage[]
  readonly startedAt: Date
  readonly endedAt?: Date
}

/** The run has stopped. If it is interrupted, a reader of its events keeps waiting; otherwise this is the last event. */
export interface RunStopped {
  readonly type: 'run-stopped'
  readonly status: Exclude<RunStatus, 'running'>
  readonly error?: ErrorInfo
}
