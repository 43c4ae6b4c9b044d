/** The interface for running turns: in this process, or in the workers of durable runs. Each request is stored before it is called. */

import type { Answers } from '@meanwhile/core'
import type { EventLog } from './event-log.ts'
import type { BegunTurn, Work } from './thread-records.ts'
import type { StoredEvent, TurnRecord } from './thread-store.ts'
import type { Resumption, SaidResult } from './user-decisions.ts'

export interface TurnRunner {
  /** The interval in milliseconds at which `watch` looks for turns without a process. */
  readonly lookEvery: number
  /** Whether callers can pass contexts. */
  readonly takesContext: boolean
  /** A message was stored. `context`: the context of its run. */
  said(
    thread: string,
    said: SaidResult,
    options: { readonly isPreempting: boolean; readonly context?: unknown },
  ): Promise<void>
  /** Answers the waiting turn. Resolves when its run continues. */
  answer(thread: string, answers: Answers, context: unknown): Promise<Resumption>
  /** Retries a turn. Resolves when its run continues. */
  retry(thread: string, work: Work, context: unknown): Promise<void>
  /** Stops the turn. `work`: how to close it, if it was waiting. */
  stop(thread: string, turn: string | undefined, work: Work | undefined): Promise<void>
  /** Continues a turn whose process has died. Returns whether there was one. */
  recover(thread: string): Promise<boolean>
  /** Stops the work on a deleted thread. */
  leave(thread: string): Promise<void>
  close(): Promise<void>
  /** Returns the events of a turn that runs in this process. */
  logOf(thread: string, turn: string): EventLog | undefined
  /** Streams the events after `seq` of a turn that runs elsewhere, if they are not in the store yet. Ends when there are no more for now. */
  follow(thread: string, turn: TurnRecord, seq: number, signal?: AbortSignal): AsyncIterable<StoredEvent>
  /** Returns the kept events of the running turn that are not stored yet. `seq`: the number of the thread's last stored event. */
  open(thread: string, turn: BegunTurn, seq: number): Promise<OpenEvents>
}

/** What the store will have when the turn has stopped. */
export interface OpenEvents {
  readonly kept: readonly StoredEvent[]
  /** The numbers of stored events that no longer count. */
  readonly retracted: readonly number[]
  /** Ids of turns whose messages have joined. */
  readonly joined: readonly string[]
}
