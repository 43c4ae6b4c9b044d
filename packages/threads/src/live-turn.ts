/** The turns that run in this process, and what they share. */

import type { Agent } from '@meanwhile/core'
import type { EventLog } from './event-log.ts'
import type { Host } from './host.ts'
import type { TurnRecord } from './thread-store.ts'

export interface LocalHost extends Host {
  /** The turns that run in this process, by the id of their thread. */
  readonly live: Map<string, LiveTurn>
  /** Returns the agent of a turn. */
  agentOf(turn: TurnRecord, thread: string): Promise<Agent>
  /** Makes the context of a run for which no caller passed one. */
  contextOf(turn: TurnRecord, thread: string): Promise<unknown>
}

/** A turn that runs in this process, or waits for a slot of it. */
export interface LiveTurn {
  readonly turn: TurnRecord
  readonly log: EventLog
  /** Whether it waits for a slot. */
  readonly isWaiting: boolean
  /** When its lease ends. */
  readonly leaseUntil: number
  /** Its lease was renewed and ends then. */
  leasedUntil(time: number): void
  /** Stops the run of the turn, or the wait for a slot. */
  stop(): void
  /** Sends the messages of these turns to the run. */
  steer(turns: readonly TurnRecord[]): void
  /** Renews the lease of the turn. Never rejects. */
  renewLease(): Promise<void>
  /** Gives up the turn, so that another process can take it over. Resolves when all writes are done. */
  release(): Promise<void>
}
