/** Who runs the turns of threads: this process, or the workers of durable runs. What is asked of it is stored before. */

import type { Answers } from '@meanwhile/core'
import type { EventLog } from './event-log.ts'
import type { BegunTurn, Work } from './thread-records.ts'
import type { StoredEvent, TurnRecord } from './thread-store.ts'
import type { Resumption, SaidResult } from './user-decisions.ts'

export interface TurnRunner {
  /** Milliseconds between two looks for turns that nobody works on. */
  readonly lookEvery: number
  /** Whether contexts can be given to it. */
  readonly takesContext: boolean
  /** A message was said. `context`: that of its run. */
  said(
    thread: string,
    said: SaidResult,
    options: { readonly isPreempting: boolean; readonly context?: unknown },
  ): Promise<void>
  /** Answers the turn that waits. Resolves when its run goes on. */
  answer(thread: string, answers: Answers, context: unknown): Promise<Resumption>
  /** Resolves when the run goes on. */
  retry(thread: string, work: Work, context: unknown): Promise<void>
  /** The turn is to stop; if it waited, this work has to be done. */
  stop(thread: string, turn: string | undefined, work: Work | undefined): Promise<void>
  /** Goes on with a turn whose process is gone. Returns whether there was one. */
  recover(thread: string): Promise<boolean>
  /** The thread was deleted. */
  leave(thread: string): Promise<void>
  close(): Promise<void>
  /** The events of a turn that runs in this process. */
  logOf(thread: string, turn: string): EventLog | undefined
  /** The events of a turn that runs elsewhere that are behind this number and not in the store. It ends when there are no more for now. */
  follow(thread: string, turn: TurnRecord, seq: number, signal?: AbortSignal): AsyncIterable<StoredEvent>
  /** The kept ones among them that there are by now. `seq`: that of the last stored event of the thread. */
  open(thread: string, turn: BegunTurn, seq: number): Promise<OpenEvents>
}

/** Events that the store will have when the turn has stopped. */
export interface OpenEvents {
  readonly kept: readonly StoredEvent[]
  /** Stored events that do not count any more, by number. */
  readonly retracted: readonly number[]
  /** Ids of turns whose messages have joined. */
  readonly joined: readonly string[]
}
