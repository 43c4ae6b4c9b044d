/** What threads need of durable runs: `durableRuns` of `@meanwhile/durable` returns it. */

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
  /** The names of their agents. */
  readonly agents: readonly string[]
  /** If there is a run under the id, it is woken. `delay`: milliseconds before a worker may take it. */
  start(
    agent: string,
    input: readonly Message[],
    options: { readonly id: string; readonly conversationId: string; readonly data: Json; readonly delay?: number },
  ): Promise<unknown>
  answer(id: string, answers: Answers): Promise<void>
  /** Returns false if the run has ended. */
  send(id: string, message: UserMessage): Promise<boolean>
  cancel(id: string): Promise<void>
  retry(id: string): Promise<void>
  get(id: string): Promise<{ readonly status: ThreadRunStatus; readonly attempts: number } | undefined>
  events(
    id: string,
    options: { readonly after?: string; readonly follow?: boolean; readonly signal?: AbortSignal },
  ): AsyncIterable<ThreadRunEvent>
  delete(id: string): Promise<void>
  /** Calls the listener in the worker at each stop of a run, again if it fails or its process dies. */
  onStopped(listener: (run: StoppedThreadRun) => Promise<void>): unknown
}

export type ThreadRunStatus = 'running' | 'interrupted' | 'cancelled' | 'completed' | 'failed'

export interface ThreadRunEvent {
  /** Two numbers with a point between them, which grow from event to event. */
  readonly cursor: string
  readonly event: AgentEvent | { readonly type: 'run-stopped' }
}

export interface StoppedThreadRun {
  readonly id: string
  readonly data?: Json
  readonly status: Exclude<ThreadRunStatus, 'running'>
  readonly error?: ErrorInfo
  /** Grows from stop to stop, except that a run which waits for an answer may be cancelled. */
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
