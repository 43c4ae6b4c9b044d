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

/** The durable runs that turns can be. `durableRuns` returns them. */
export interface ThreadRuns {
  /** The names of the agents of the runs. */
  readonly agents: readonly string[]
  /** Starts a run, or wakes the run that has this id. `delay`: milliseconds before a worker may take it. */
  start(
    agent: string,
    input: readonly Message[],
    options: { readonly id: string; readonly conversationId: string; readonly data: Json; readonly delay?: number },
  ): Promise<unknown>
  /** Answers questions of a run, by id of the interrupt. */
  answer(id: string, answers: Answers): Promise<void>
  /** Sends a message to a run. Returns false if the run has ended. */
  send(id: string, message: UserMessage): Promise<boolean>
  /** Cancels a run. */
  cancel(id: string): Promise<void>
  /** Runs a failed run again. */
  retry(id: string): Promise<void>
  /** Returns the state of a run; undefined if there is none with this id. */
  get(id: string): Promise<{ readonly status: ThreadRunStatus; readonly attempts: number } | undefined>
  /** Returns the events of a run after the cursor `after`. */
  events(
    id: string,
    options: { readonly after?: string; readonly follow?: boolean; readonly signal?: AbortSignal },
  ): AsyncIterable<ThreadRunEvent>
  /** Deletes a run that has stopped. */
  delete(id: string): Promise<void>
  /** Calls the listener in the worker each time a run stops, and again if the listener fails or its process dies. */
  onStopped(listener: (run: StoppedThreadRun) => Promise<void>): unknown
}

/** The status of a durable run. */
export type ThreadRunStatus = 'running' | 'interrupted' | 'cancelled' | 'completed' | 'failed'

/** An event with its place in the run. */
export interface ThreadRunEvent {
  /** Two numbers separated by a point. They increase from event to event. */
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
  /** Increases from stop to stop, except when a run that waits for an answer is cancelled. */
  readonly attempts: number
  /** Returns what the run has produced. `reason`: the result of calls that have none, if the run failed or was cancelled. */
  outcome(reason?: string): Promise<{
    readonly messages?: readonly Message[] | undefined
    readonly usage?: Usage | undefined
    readonly text?: string
    readonly output?: unknown
    readonly interrupts?: readonly PendingInterrupt[] | undefined
    readonly settled?: readonly ToolMessage[] | undefined
  }>
}
