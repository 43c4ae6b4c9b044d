/** Threads, as their users see them: stored conversations that run one turn at a time. */

import type { Answers, Json, UserMessage } from '@meanwhile/core'
import type { Preview, ThreadRequest } from './preview.ts'
import type { ThreadState } from './thread-state.ts'
import type { ResumedTurn, Turn } from './turn.ts'
import type { WhenAsking, WhenBusy } from './user-decisions.ts'

/** The options of calls that run a turn. */
export interface ContextOptions<Context = unknown> {
  /** The context of the run. It is not stored: a process that takes over the turn makes it again. */
  readonly context?: Context
}

/** The options of calls that can be previewed. */
export interface ExpectedOptions {
  /** What `preview` has returned: if the call would change something else by now, it throws `ThreadChangedError`. */
  readonly expected?: Preview
}

/** The options of `send`. */
export interface SendOptions<Context = unknown> extends ContextOptions<Context>, ExpectedOptions {
  /**
   * The id of the message. If the thread already has a message with this id, nothing is added, and the turn of that message is returned. Default: a
   * random one.
   */
  readonly messageId?: string
  /**
   * The id of a message that began a turn. This message replaces that one and everything after it, in one change of the store; the replaced messages
   * stay stored as superseded, as with `rewind`. If `messageId` is the same id, each call replaces the message again. If it is another id, a repeated
   * call returns the same turn.
   */
  readonly replacing?: string
  /** Small JSON that is stored with the turn, and passed to `agent` and `context`. */
  readonly metadata?: Json
  /** JSON for an interface, kept with a message that begins a turn. The model does not get it, and neither does the run. */
  readonly display?: Json
  /** What happens to the message while a turn is running. Default: the option of the threads. */
  readonly whenBusy?: WhenBusy
  /** What happens to the message while a turn waits for an answer. Default: the option of the threads. */
  readonly whenAsking?: WhenAsking
}

/** The options of `stop`. */
export interface StopOptions extends ExpectedOptions {
  /** Whether the queued messages stay until the next message arrives, or are dropped. Default `keep`. */
  readonly queue?: 'keep' | 'drop'
  /** Aborts the wait; the request to stop stays. */
  readonly signal?: AbortSignal
}

/** A thread in a list. */
export interface ThreadSummary {
  /** The id of the thread. */
  readonly id: string
  /** When its first message was stored. */
  readonly createdAt: Date
  /** When it last changed. */
  readonly updatedAt: Date
}

/**
 * All methods reject with `ThreadIdError` for an id that is not a string of 1 to 1,024 characters. All except `read`, `list` and `delete` reject with
 * `ThreadDeletedError`.
 */
export interface Threads<Context = unknown> {
  /** Whether `send`, `answer` and `retry` accept a context. False with durable runs, whose workers make it. */
  readonly acceptsContext: boolean
  /** The names of the agent's tools, without those that middleware adds. Absent if the agent is chosen for each turn, and with durable runs. */
  readonly toolNames?: readonly string[]
  /**
   * Returns what a request would change, and in which turn, without changing anything. Pass it to the call as `expected`, so that the call does nothing
   * else.
   */
  preview(thread: string, request: ThreadRequest): Promise<Preview>
  /**
   * Adds a message to a thread; the first message creates the thread. Resolves when the message is stored.
   *
   * @throws {ThreadBusyError} A turn is running or waits, and `whenBusy` or `whenAsking` is `reject`; or a turn is running, and the message replaces
   * another message.
   * @throws {ThreadChangedError} It would change something else than `expected`.
   * @throws {QueueFullError} `maxQueued` messages wait in the queue.
   * @throws {TooManyTurnsError} Its turn would wait for a slot, and `maxWaiting` turns wait.
   * @throws {InputError} It is not a user message, is empty, or cannot be written as JSON.
   * @throws {TypeError} `metadata` or `display` is not JSON.
   * @throws {UnknownMessageError} No turn begins with the message to replace.
   * @throws {ConfigError} An option is unknown or not valid.
   */
  send(thread: string, message: string | UserMessage, options?: SendOptions<Context>): Promise<Turn>
  /**
   * Answers questions of the waiting turn, by id of the interrupt. Resolves when its run continues, or when the answers are stored and checked and the
   * turn waits for a slot (`maxRunning`).
   * `turn.events({ after: turn.cursor })` streams the events that follow.
   *
   * Answers of one thread are checked one at a time, in the order of the calls: while the functions `agent` and `context` work for one, the next waits.
   *
   * With durable runs, the same answers may be given again while the turn runs: it changes nothing, unless the run did not get them.
   *
   * @throws {UnknownInterruptError} The thread has no question with this id, or it was answered.
   * @throws {TypeError} `answers` has no answer, or is not JSON.
   * @throws {AnswerError} An answer does not match the schema of its question. Nothing has run, and the question stays open.
   * @throws {ThreadBusyError} The turn is already continuing, with answers to its other questions.
   */
  answer(thread: string, answers: Answers, options?: ContextOptions<Context>): Promise<ResumedTurn>
  /**
   * Stops the turn that runs or waits, and keeps its messages. `queue`: `keep` (default) keeps the queued messages until the next message arrives;
   * `drop` drops them. Resolves when the turn has ended. Rejects with the reason of `signal` if that is aborted; the turn is stopped all the same.
   *
   * @throws {ThreadChangedError} It would stop another turn than `expected`.
   */
  stop(thread: string, options?: StopOptions): Promise<void>
  /**
   * Takes a message out of the queue: its turn ends as `dropped`. A message that was taken out before changes nothing. One that steers stays if the run
   * already has it.
   *
   * @throws {UnknownMessageError} The message has left the queue because its turn has begun, or the thread never had it.
   * @throws {ThreadChangedError} It would drop another turn than `expected`.
   */
  drop(thread: string, messageId: string, options?: ExpectedOptions): Promise<void>
  /**
   * Continues the newest turn, which must have failed, from its last complete step. Resolves when its run continues or the turn waits for a slot
   * (`maxRunning`). A turn cannot be retried after a later turn has begun, even if that is removed again, or in a fork.
   *
   * @throws {NothingToRetryError} It has not failed, or can no longer be retried.
   * @throws {ThreadChangedError} It would continue another turn than `expected`.
   * @throws {ThreadBusyError} A turn is running or waits.
   */
  retry(thread: string, options?: ContextOptions<Context> & ExpectedOptions): Promise<ResumedTurn>
  /**
   * Removes a message that began a turn, and everything after it. The removed messages stay stored as superseded, but no method returns them.
   *
   * @throws {UnknownMessageError} No turn begins with the message.
   * @throws {ThreadBusyError} A turn is running.
   */
  rewind(thread: string, options: { readonly before: string }): Promise<void>
  /**
   * Copies everything before a message that began a turn into another thread; without `before`, all turns that have ended. `as`: the id of the
   * copy, by default a random one. Returns the id of the copy.
   *
   * @throws {ThreadExistsError} A thread with the id `as` exists.
   * @throws {UnknownMessageError} No turn begins with the message.
   */
  fork(thread: string, options?: { readonly before?: string; readonly as?: string }): Promise<string>
  /** Returns the state of a thread. The state of a thread that does not exist or was deleted has no messages. */
  read(thread: string): Promise<ThreadState>
  /**
   * Returns a turn; without an id the newest turn that has begun. Undefined if the thread does not exist or no turn has begun.
   *
   * @throws {UnknownTurnError} The thread has no turn with this id.
   */
  turn(thread: string, turn?: string): Promise<Turn | undefined>
  /** Returns the threads, newest first. `after`: the id of the last thread of the previous page. `limit`: the maximum number, default 100. */
  list(options?: { readonly after?: string; readonly limit?: number }): Promise<readonly ThreadSummary[]>
  /** Deletes all messages of a thread, and stops its running turn. The id cannot be used again. */
  delete(thread: string): Promise<void>
  /**
   * Takes over all turns whose process has died, as long as this process runs fewer turns than `maxRunning`. Returns how many turns it took over. If a
   * turn cannot be taken over, it continues with the others and throws the first such error at the end.
   */
  recover(): Promise<number>
  /**
   * Takes over turns as `recover` does, twice per lease time until it is closed; with durable runs every 5 seconds. Turns that could not be taken over
   * are tried again.
   */
  watch(): { close(): void }
  /** Gives up the turns that run in this process, so that other processes can take them over, and begins no more. Resolves when all writes are done. */
  close(): Promise<void>
}
