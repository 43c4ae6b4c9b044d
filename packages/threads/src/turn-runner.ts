/**
 * The interface for running turns, in this process or in the workers of durable runs. The request of a user is stored before the method is called;
 * only `send` and `answer` store their requests themselves.
 */

import type { Answers } from '@meanwhile/core'
import type { EventLog } from './event-log.ts'
import type { BegunTurn, Work } from './thread-records.ts'
import type { StoredEvent, TurnRecord } from './thread-store.ts'
import type { Resumption, SendResult } from './user-decisions.ts'

export interface TurnRunner {
  /** The interval in milliseconds at which `watch` looks for turns without a process. */
  readonly recoverInterval: number
  /** Whether callers may pass a context. */
  readonly acceptsContext: boolean
  /** Whether this process runs as many turns as it may. Then it takes over none. */
  readonly isFull: boolean
  /**
   * Stores a message by calling `store`, and does the work that follows from it. `turn`: the id of its turn, if it gets one. `context`: the context of its
   * run, if the caller passed one. `store` calls `admit` before it stores a message after which a turn begins; it throws `TooManyTurnsError` if no more
   * turns may wait in this process.
   */
  send(
    thread: string,
    turn: string,
    store: (admit: () => void) => Promise<SendResult>,
    options: { readonly isPreempting: boolean; readonly context?: unknown },
  ): Promise<SendResult>
  /** Answers the waiting turn. Resolves when its run continues, or when the answers are checked and the turn waits until it may run. */
  answer(thread: string, answers: Answers, context: unknown): Promise<Resumption>
  /** Retries a turn. Resolves when its run continues, or when the turn waits until it may run. */
  retry(thread: string, work: Work, context: unknown): Promise<void>
  /** Stops the turn. `work`: present if the turn was waiting, and must be closed. */
  stop(thread: string, turn: string | undefined, work: Work | undefined): Promise<void>
  /** Continues the turn of a thread if its process has died. Returns whether it did that. */
  recover(thread: string): Promise<boolean>
  /** Renews the leases of all turns that run in this process, now. */
  renewLeases(): void
  /** Gives up the running turn of a deleted thread. */
  release(thread: string): Promise<void>
  /** Gives up all turns that run in this process, and begins no more. Resolves when all writes are done. */
  close(): Promise<void>
  /** The code that is running begins to wait for a turn of this thread. Returns a function that ends the wait. */
  await(thread: string): () => void
  /** Returns the events of a turn if it runs in this process. */
  logOf(thread: string, turn: string): EventLog | undefined
  /**
   * Streams the events after `seq` that are not in the store yet, of a turn that runs in another process. Ends when there are none at the moment.
   * Absent: other processes write their events to the store, where readers find them.
   */
  follow?(thread: string, turn: TurnRecord, seq: number, signal?: AbortSignal): AsyncIterable<StoredEvent>
  /**
   * Returns the kept events of the running turn that are not stored yet. `seq`: the number of the thread's last stored event. Undefined: by now the thread
   * has stored events after that one.
   */
  unstoredEvents(thread: string, turn: BegunTurn, seq: number): Promise<UnstoredEvents | undefined>
}

/** The changes that a running turn has made and not stored yet. */
export interface UnstoredEvents {
  /** New kept events. */
  readonly kept: readonly StoredEvent[]
  /** The numbers of stored events that are no longer valid. */
  readonly retracted: readonly number[]
  /** The ids of turns whose messages have joined the running turn. */
  readonly joined: readonly string[]
}
