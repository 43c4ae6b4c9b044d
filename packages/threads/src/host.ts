/** What the threads of a process share. */

import type { Agent } from '@meanwhile/core'
import type { OnError } from './error-reports.ts'
import type { EventLog } from './event-log.ts'
import type { Claim } from './thread-records.ts'
import type { ThreadStore, TurnRecord } from './thread-store.ts'
import type { Wakes } from './wakes.ts'

export interface Host {
  readonly store: ThreadStore
  readonly wakes: Wakes
  /** The turns that this process works on, by thread. */
  readonly live: Map<string, LiveTurn>
  claim(): Claim
  /** Takes errors that no caller awaits. */
  readonly report: OnError
  agentOf(turn: TurnRecord, thread: string): Promise<Agent>
  /** Makes the context of a run that was given none. */
  contextOf(turn: TurnRecord, thread: string): Promise<unknown>
}

/** A turn that this process works on. */
export interface LiveTurn {
  readonly turn: TurnRecord
  readonly log: EventLog
  /** Contexts that were given with messages of its thread, by turn. */
  readonly contexts: Map<string, unknown>
  stop(): void
  /** Gives messages to its run that are to join it. */
  steer(turns: readonly TurnRecord[]): void
  /** Leaves the turn to another process. Resolves when all is written. */
  leave(): Promise<void>
}
