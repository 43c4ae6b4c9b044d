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

export interface ThreadRuns {
  /** The names of the agents of the runs. */
  readonly agents: readonly string[]
  /** Starts a run, or wakes the run that has this id. `delay`: milliseconds before a worker may take it. */
  start(
    agent: string,
    input: readonly Message[],
    options: { readonly id: string; readonly conversationId: string; readonly data: Json; readonly delay?: number },
  ): Promise<unknown>
  answer(id: string, answers: Answers): Promise<void>
  /** Sends a message to a run. Returns false if the run has ended. */
  send(id: string, message: UserMessage): Promise<boolean>
  cancel(id: string): Promise<void>
  retry(id: string): Promise<void>
  get(id: string): Promise<{ readonly status: ThreadRunStatus; readonly attempts: number } | undefined>
  events(
    id: string,
    options: { readonly after?: string; readonly follow?: boolean; readonly signal?: AbortSignal },
  ): AsyncIterable<ThreadRunEvent>
  delete(id: string): Promise<void>
  /** Calls the listener in the worker each time a run stops, and again if the listener fails or its process dies. */
  onStopped(listener: (run: StoppedThreadRun) => Promise<void>): unknown
}

export type ThreadRunStatus = 'running' | 'interrupted' | 'cancelled' | 'completed' | 'failed'

export interface ThreadRunEvent {
  /** Two numbers separated by a point. They increase from event to event. */
  readonly cursor: string
  readonly event: AgentEvent | { readonly type: 'run-stopped' }
}

export interface StoppedThreadRun {
  readonly id: string
  readonly data?: Json
  readonly status: Exclude<ThreadRunStatus, 'running'>
  readonly error?: ErrorInfo
  /** Increases from stop to stop, except when a run that waits for an answer is cancelled. */
  readonly attempts: number
  outcome(reason?: string): Promise<{
    readonly messages?: readonly Message[] | undefined
    readonly usage?: Usage | undefined
    readonly text?: string
    readonly output?: unknown
    readonly interrupts?: readonly PendingInterrupt[] | undefined
    readonly settled?: readonly ToolMessage[] | undefined
  }>
}
