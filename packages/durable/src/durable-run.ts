/** The state of a durable run, as `get` returns it. */

import type { PendingInterrupt, UserMessage } from '@meanwhile/core'
import type { ErrorInfo } from './errors.ts'

/** `running`: the run is running, or waits for a worker. `interrupted`: it waits for an answer. The others are ends. */
export type RunStatus = 'running' | 'interrupted' | EndStatus

/** The status of a run that has ended. */
export type EndStatus = 'cancelled' | 'completed' | 'failed'

/** The state of a run at one moment. */
export interface DurableRun {
  /** The id of the run. */
  readonly id: string
  /** The agent's name. */
  readonly agent: string
  /** The status of the run. */
  readonly status: RunStatus
  /** The questions that wait for an answer; empty unless the run is interrupted. */
  readonly interrupts: readonly PendingInterrupt[]
  /** The error that ended the run, or the reason why its last answer was refused. */
  readonly error?: ErrorInfo
  /** How many times a worker has taken the run. */
  readonly attempts: number
  /** Messages that were sent to the run too late to be read. Empty until the run has ended. */
  readonly unread: readonly UserMessage[]
  /** When `start` stored the run. */
  readonly startedAt: Date
  /** When the run ended; absent before that. */
  readonly endedAt?: Date
}

/** The run has stopped. If it is interrupted, a reader of its events keeps waiting; otherwise this is the last event. */
export interface RunStopped {
  readonly type: 'run-stopped'
  /** How the run stopped. */
  readonly status: Exclude<RunStatus, 'running'>
  /** The error that ended the run; absent if it did not fail. */
  readonly error?: ErrorInfo
}
