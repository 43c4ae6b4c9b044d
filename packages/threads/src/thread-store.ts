/** What a store of threads keeps, and what it must do. */

import type {
  Answers,
  CheckpointStore,
  Json,
  PendingInterrupt,
  StoredCheckpoint,
  ToolMessage,
  Usage,
  UserMessage,
} from '@meanwhile/core'
import type { EndStatus, ErrorInfo, ThreadEventBody } from './thread-events.ts'

/** `joined`: its message went into a turn that was running. */
export type TurnStatus = 'queued' | 'running' | 'waiting' | 'joined' | EndStatus

/** A thread without its turns and events. Times are milliseconds since the epoch. */
export interface ThreadRecord {
  readonly id: string
  /** A random text in each cursor of this thread, so that cursors of other threads are refused. */
  readonly tag: string
  readonly createdAt: number
  readonly updatedAt: number
  /** The highest `seq` of its events. */
  readonly seq: number
  /** How many turns it has had. */
  readonly turns: number
  /** The history of the next run begins with the event of this `seq`. */
  readonly historyAt: number
  /** Whether the queue waits for the next message. */
  readonly isPaused: boolean
  readonly isDeleted: boolean
}

/** A turn. Its id is the id of its run, too. */
export interface TurnRecord {
  readonly id: string
  /** From 1, in the order in which the messages came. */
  readonly number: number
  readonly status: TurnStatus
  readonly messageId: string
  /** What the user said. Only a turn that has not begun has it: then its `turn-start` event does. */
  readonly message?: UserMessage
  readonly metadata?: Json
  readonly createdAt: number
  /** When it ended, or began to wait, the last time. */
  readonly endedAt?: number
  /** Whether it goes before the others in the queue. */
  readonly isFirst?: boolean
  /** Whether its message is to join the running turn. */
  readonly isSteering?: boolean
  /** Whether it is dropped if its message does not join the running turn. */
  readonly isDropped?: boolean
  /** The turn that its message has joined. */
  readonly joined?: string
  /** `seq` of its first event, or of the message that has joined another turn. */
  readonly startSeq?: number
  /** The thread's `historyAt` when it began. */
  readonly historyAt?: number
  /** How often a process has begun to work on it. Each write names it, so that an earlier process is refused. */
  readonly epoch: number
  /** Of a durable run: how often a worker had taken it when it stopped the last time. */
  readonly attempts?: number
  /** When another process may take it over. 0: at once, or nobody works on it. */
  readonly leaseUntil: number
  /** It is to stop, or is being closed: this is the reason that its open calls are answered with. */
  readonly closing?: string
  /** The answers to what it waited for last. */
  readonly answers?: Answers
  /** What it waits for, or waited for last. */
  readonly interrupts?: readonly PendingInterrupt[]
  /** Of a turn that waits: the results of calls that did not ask. */
  readonly settled?: readonly ToolMessage[]
  readonly error?: ErrorInfo
  /** The text of its answer. */
  readonly text?: string
  readonly output?: Json
  readonly usage?: Usage
}

/** Events of a thread are numbered upwards; the numbers may have gaps. */
export interface StoredEvent {
  readonly seq: number
  readonly turn: string
  /** Absent: it is dropped when its step has ended. */
  readonly isKept?: boolean
  readonly event: ThreadEventBody
}

/** What a change is decided by. */
export interface StoredThread {
  readonly thread: ThreadRecord
  /** The turns that have not ended, the newest that has begun, and those that were asked for; by number. */
  readonly turns: readonly TurnRecord[]
}

/** What is written in one transaction. What is absent stays as it is. */
export interface Change<Result> {
  readonly result: Result
  readonly thread?: ThreadRecord
  /** New and changed ones. */
  readonly turns?: readonly TurnRecord[]
  readonly events?: readonly StoredEvent[]
  /** The events up to this `seq` that are not kept are dropped. */
  readonly droppedThrough?: number
  /** These events are superseded, by `seq`. */
  readonly retracted?: readonly number[]
  /**
   * Before the rest is written, all stored events and turns from this `seq` on are superseded, and the checkpoints of those turns are deleted:
   * what the same change writes counts.
   */
  readonly supersededFrom?: number
  /** Saved as `CheckpointStore.save` saves it; if that throws nothing is written. */
  readonly checkpoint?: { readonly id: string; readonly checkpoint: StoredCheckpoint; readonly expected: number }
  /** Ids of checkpoints to be deleted. */
  readonly forgotten?: readonly string[]
  /** All turns, events and checkpoints of the thread are deleted. */
  readonly isErased?: boolean
}

/** Turns to be found in addition to those that are always found. */
export interface Asked {
  readonly turn?: string
  readonly messageId?: string
}

export interface ChangeOptions extends Asked {
  /** Whether the write need not wait for the disk: it may be lost if the machine loses its power. */
  readonly isFleeting?: boolean
}

export interface EventQuery {
  /** Events with a higher `seq`. Default 0. */
  readonly after?: number
  readonly turn?: string
  readonly keptOnly?: boolean
  readonly limit?: number
}

/**
 * Keeps threads, and the checkpoints of their runs. It never returns superseded turns and events. To write your own store, run `threadStoreContract` of `@meanwhile/threads/testing` against it.
 */
export interface ThreadStore {
  readonly checkpoints: CheckpointStore
  /** Undefined if there is no such thread. */
  load(id: string, asked?: Asked): Promise<StoredThread | undefined>
  /**
   * Decides and writes as one: no other change of this thread comes between. `decide` is synchronous and may be called more than once. If it
   * throws, `change` rejects with that error, and nothing is written.
   */
  change<Result>(
    id: string,
    decide: (stored: StoredThread | undefined) => Change<Result>,
    options?: ChangeOptions,
  ): Promise<Result>
  /** In order. */
  events(id: string, query?: EventQuery): Promise<readonly StoredEvent[]>
  /** All turns, by number. */
  turns(id: string): Promise<readonly TurnRecord[]>
  /** Newest first, without the deleted ones. `after`: the id of the last thread of the page before. */
  list(options: { readonly after?: string; readonly limit: number }): Promise<readonly ThreadRecord[]>
  /** Threads whose running turn has a lease that has run out, or whose queue nobody works on although it is not paused. */
  due(now: number, limit: number): Promise<readonly string[]>
}

/** Whether the turn is over for good. */
export function isEnd({ status }: TurnRecord): boolean {
  return status === 'completed' || status === 'stopped' || status === 'failed' || status === 'dropped'
}
