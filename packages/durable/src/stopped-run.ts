/** A stop of a run, as listeners of a worker receive it, and the outcome of the run. */

import type { Json, Message, PendingInterrupt, ToolMessage, Usage } from '@meanwhile/core'
import type { RunStatus } from './durable-run.ts'
import type { ErrorInfo } from './errors.ts'

/** A run that has stopped, as listeners receive it. */
export interface StoppedRun {
  /** The id of the run. */
  readonly id: string
  /** The agent's name. */
  readonly agent: string
  /** The `conversationId` that was passed to `start`. */
  readonly conversationId?: string
  /** The `data` that was passed to `start`. */
  readonly data?: Json
  /** How the run stopped. */
  readonly status: Exclude<RunStatus, 'running'>
  /** The error that ended the run, or the reason why its last answer was refused. */
  readonly error?: ErrorInfo
  /** How many times a worker has taken the run. It grows from stop to stop, except when a run is cancelled while it waits for an answer. */
  readonly attempts: number
  /**
   * Returns the outcome of the run. `reason`: the result of calls that have none, if the run failed or was cancelled.
   * @throws {CheckpointMissingError} The run has completed or is interrupted, and its checkpoint is lost.
   */
  outcome(reason?: string): Promise<RunOutcome>
}

/** What a run has produced until it stopped. */
export interface RunOutcome {
  /**
   * The whole history. Only an interrupted run has calls without a result. Undefined if the run failed or was cancelled, and its checkpoint is lost.
   */
  readonly messages?: readonly Message[] | undefined
  /** The tokens that the run has used. Undefined if the checkpoint is lost. */
  readonly usage?: Usage | undefined
  /** The text of the answer. */
  readonly text?: string
  /** The value of the agent's `output` schema. */
  readonly output?: unknown
  /** The questions that wait for an answer. */
  readonly interrupts?: readonly PendingInterrupt[] | undefined
  /** Results of calls in the interrupted step that do not wait for an answer. */
  readonly settled?: readonly ToolMessage[] | undefined
}

/** Called each time a run stops. */
export type OnStopped = (run: StoppedRun) => Promise<void>

/** The outcome, as the process in which the run stopped knows it. */
export type KnownOutcome = RunOutcome & { readonly status: StoppedRun['status'] }
