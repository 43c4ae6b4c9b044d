/** The interface through which threads use durable runs. `durableRuns` of `@meanwhile/durable` returns an implementation. */

import type {
  AgentEvent,
  Answers,
  Json,
  Message,
  PendingInterrupt,
  ToolMessage,
  Usage,
  UserMessage,
} from '@meanwhile/core'
import type { ErrorInfo } from './thread-events.ts'

/** What threads need of durable runs. */
export interface ThreadRuns {
  /** The names of the agents of the runs. */
  readonly agents: readonly string[]
  /**
   * Starts a run, or wakes the run that has this id. `isNeeded`: called when the run is stored and before a worker can take it. If it resolves to
   * false, the run is not woken, and it is deleted if no worker has ever taken it.
   */
  start(
    agent: string,
    input: readonly Message[],
    options: {
      readonly id: string
      readonly conversationId: string
      readonly data: Json
      readonly isNeeded: () => Promise<boolean>
    },
  ): Promise<unknown>
  /**
   * Answers questions of a run, by id of the interrupt, and wakes the run.
   *
   * @throws {UnknownInterruptError} The run has no question with this id.
   * @throws {AnswerError} An answer does not match the schema of its question.
   */
  answer(id: string, answers: Answers): Promise<void>
  /** Sends a message to a run. Returns false if the run has ended. */
  send(id: string, message: UserMessage): Promise<boolean>
  /** Cancels a run. */
  cancel(id: string): Promise<void>
  /** Wakes a run that has failed. */
  retry(id: string): Promise<void>
  /** Returns the state of a run; undefined if it does not exist. */
  get(id: string): Promise<{ readonly status: ThreadRunStatus; readonly attempts: number } | undefined>
  /** Streams the events of a run after a cursor. `follow`: wait for new events until the run has stopped. Throws if the run does not exist. */
  events(
    id: string,
    options: { readonly after?: string; readonly follow?: boolean; readonly signal?: AbortSignal },
  ): AsyncIterable<ThreadRunEvent>
  /** Deletes a run with its events. */
  delete(id: string): Promise<void>
  /** Calls the listener, in the worker, each time a run stops. Calls it again if it throws or its process dies. */
  onStopped(listener: (run: StoppedThreadRun) => Promise<void>): unknown
}

/** The status of a durable run. */
export type ThreadRunStatus = 'running' | 'interrupted' | 'cancelled' | 'completed' | 'failed'

/** An event of a run, with its position. */
export interface ThreadRunEvent {
  /** `<batch>.<index>`: two numbers. They increase from event to event. */
  readonly cursor: string
  /** The event. */
  readonly event: AgentEvent | { readonly type: 'run-stopped' }
}

/** A durable run that has stopped. */
export interface StoppedThreadRun {
  /** The id of the run. */
  readonly id: string
  /** The data that was passed to `start`. */
  readonly data?: Json
  /** How the run stopped. */
  readonly status: Exclude<ThreadRunStatus, 'running'>
  /** The error that ended the run. */
  readonly error?: ErrorInfo
  /** How often a worker has taken the run. It is higher at each stop, except if a run is cancelled while it waits for an answer. */
  readonly attempts: number
  /**
   * Returns the result of the run. `reason`: the result of calls that have none, if the run failed or was cancelled.
   *
   * @throws {CheckpointMissingError} The checkpoint of the run is lost.
   */
  outcome(reason?: string): Promise<{
    readonly messages?: readonly Message[] | undefined
    readonly usage?: Usage | undefined
    readonly text?: string
    readonly output?: unknown
    readonly interrupts?: readonly PendingInterrupt[] | undefined
    readonly settled?: readonly ToolMessage[] | undefined
  }>
}

/** Calls a method of a run. Returns false if the run does not exist. */
export async function ifExists(runs: ThreadRuns, run: string, call: () => Promise<unknown>): Promise<boolean> {
  for (;;) {
    try {
      await call()
      return true
    } catch (error) {
      if (!(await runs.get(run))) return false
      // Otherwise another process has started the run since.
      if (!(error instanceof Error) || error.name !== 'UnknownRunError') throw error
    }
  }
}
