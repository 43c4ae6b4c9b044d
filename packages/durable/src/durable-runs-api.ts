/** What the callers of durable runs can do with them. */

import type { Answers, CancelMode, CompletedResult, Effect, Json, RunInput, UserMessage } from '@meanwhile/core'
import type { ReadOptions } from './call-options.ts'
import type { DurableRun } from './durable-run.ts'
import type { WakeOptions } from './engine.ts'
import type { ReadEvent } from './event-reader.ts'
import type { OnStopped } from './stopped-run.ts'

/** The options of `start`. */
export interface StartOptions extends WakeOptions {
  /** The id of the run: 1 to 255 characters. Default: a random one. */
  readonly id?: string
  /** The conversation that the run belongs to, for spans and for the context. */
  readonly conversationId?: string
  /** Passed to the `context` function of the run. */
  readonly data?: Json
  /**
   * Called when the run is stored and before the engine is notified. If it resolves to false, the engine is not notified, and the run is deleted if
   * no worker has ever taken it. For a caller that may be late: without it, a start after a run has ended and was deleted makes the run again.
   */
  readonly isNeeded?: () => Promise<boolean>
}

/** `Output`: what the `output` schemas of the agents return. */
export interface DurableRuns<Output = unknown> {
  /** The names of the agents. */
  readonly agents: readonly string[]
  /**
   * Resolves when the run is stored and the engine has been notified. If the agent already has a run with this id, that run keeps its input and is
   * woken: so a caller that does not know whether a start succeeded may start again.
   *
   * @throws {UnknownAgentError} No agent has this name.
   * @throws {RunIdError} The id is not valid.
   * @throws {RunIdTakenError} A run of another agent, or a run that is not durable, has this id.
   * @throws {ConfigError} Another option is not valid. Nothing is stored then.
   */
  start(agent: string, input: RunInput, options?: StartOptions): Promise<{ readonly id: string }>
  /**
   * Answers questions, by the id of the interrupt. The first answer to a question counts. If one of the answers is refused here, none is
   * stored. If the tool or middleware that asked refuses an answer later, in the worker, the question opens again, and `error` of `get` has the
   * reason. If the database or the engine fails, the question stays open until it is answered again; an answer that was stored counts.
   *
   * @throws {UnknownInterruptError} The run has no such question.
   * @throws {AnswerError} An answer does not match the schema of its question, or of the tool or middleware that asked. The question stays open.
   * @throws {CheckpointMissingError} The checkpoint was deleted. The run fails.
   * @throws {DurableStoreError} The database or the engine has failed.
   */
  answer(id: string, answers: Answers): Promise<void>
  /**
   * Adds a user message to the history before the next model call, in whichever process the run is. The run reads each message once. Returns
   * false if the run has ended. A message that arrives just as the run ends is in the run's `unread`.
   * @throws {InputError} It is not a user message, is empty, or cannot be written as JSON. Nothing is stored then.
   */
  send(id: string, message: string | UserMessage): Promise<boolean>
  /**
   * Stops the run, like `AgentRun.cancel`; default `now`. Resolves when the request is stored and the engine has been notified, not when the run
   * has stopped.
   */
  cancel(id: string, options?: { readonly at?: CancelMode }): Promise<void>
  /**
   * Continues a failed or cancelled run from its checkpoint. `rerun` works as in `agent.resume`. If it fails, call it again: a run that
   * is already running is woken before the error is thrown.
   * @throws {NothingToRetryError} The run has neither failed nor been cancelled.
   */
  retry(id: string, options?: { readonly rerun?: readonly Effect[] }): Promise<void>
  /** Returns undefined if the run does not exist. */
  get(id: string): Promise<DurableRun | undefined>
  /**
   * Waits for the end of the run and returns its result.
   * @throws {RunFailedError} The run failed. `error` has the name and message of the error that ended it.
   * @throws {RunCancelledError} The run was cancelled.
   */
  result(id: string, options?: { readonly signal?: AbortSignal }): Promise<CompletedResult<Output>>
  /**
   * Streams the events of the run after a cursor, until the run ends. Any number of readers in any process may read. The last event after the end
   * of the run is `run-stopped`. A reader that stops reading does not affect the run.
   *
   * Events are for display. After a process has died some events are repeated: a `history-replaced` event then has the valid messages.
   * @throws {UnknownRunError} The run was never started, or was deleted.
   * @throws {CursorError} `after` is not a cursor.
   * @throws {ConfigError} Another option is not valid.
   */
  events(id: string, options?: ReadOptions): AsyncIterable<ReadEvent>
  /**
   * Deletes the run and its checkpoint. A running run stops. Deleting a run that does not exist is not an error. From the first statement on the run
   * does not exist. If this process dies after that, or the store fails, a worker deletes the rest after about a minute.
   */
  delete(id: string): Promise<void>
  /** Deletes runs that ended before a time (epoch milliseconds, or a `Date`), with their checkpoints. Returns how many were deleted. */
  prune(options: { readonly olderThan: Date | number }): Promise<number>
  /**
   * Calls `listener` in the worker each time a run stops: it has ended, or waits for an answer. The engine repeats the call until all listeners
   * of the worker have resolved, also if the process dies in between, so a listener may receive the same stop more than once. Each worker needs
   * the same listeners. Returns a function that removes the listener.
   */
  onStopped(listener: OnStopped): () => void
  /** Starts a worker in this process. It advances at most `concurrency` runs at a time; default 10. */
  work(options?: { readonly concurrency?: number }): Promise<DurableWorker>
}

/** A running worker. */
export interface DurableWorker {
  /**
   * Takes no more runs, lets each run stop when its running tools have ended, and returns it to the engine. Resolves after at most `grace`
   * milliseconds; default 30,000. For `SIGTERM`.
   */
  stop(options?: { readonly grace?: number }): Promise<void>
}
