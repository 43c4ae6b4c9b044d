/** The interface of a store of threads, and the records that it keeps. */

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

/** The states of a turn. `joined`: its message went into another turn that was running. */
export type TurnStatus = 'queued' | 'running' | 'waiting' | 'joined' | EndStatus

/** A thread without its turns and events. Times are milliseconds since the epoch. */
export interface ThreadRecord {
  readonly id: string
  /** A random text in each cursor of this thread, so that cursors of other threads are rejected. */
  readonly tag: string
  readonly createdAt: number
  readonly updatedAt: number
  /** The highest `seq` of its events. */
  readonly seq: number
  /** The number of turns so far. */
  readonly turns: number
  /** The history of the next run begins with the event of this `seq`. */
  readonly historyAt: number
  /** Whether the queue waits for the next message. */
  readonly isPaused: boolean
  readonly isDeleted: boolean
}

/** A turn. Its id is also the id of its run. */
export interface TurnRecord {
  readonly id: string
  /** From 1, in the order in which the messages arrived. */
  readonly number: number
  readonly status: TurnStatus
  readonly messageId: string
  /** The user's message. Only before the turn begins; from then on the `turn-start` event has it. */
  readonly message?: UserMessage
  readonly metadata?: Json
  readonly createdAt: number
  /** When the turn last ended or began to wait. */
  readonly endedAt?: number
  /** Whether the turn begins before the others in the queue. */
  readonly isFirst?: boolean
  /** Whether its message should join the running turn. */
  readonly isSteering?: boolean
  /** Whether the turn is dropped if its message does not join the running turn. */
  readonly isDropped?: boolean
  /** The id of the turn that its message has joined. */
  readonly joined?: string
  /** `seq` of its first event, or of the message that has joined another turn. */
  readonly startSeq?: number
  /** The thread's `historyAt` when it began. */
  readonly historyAt?: number
  /** How often a process has claimed the turn. Each write is checked against it, so that an earlier owner cannot write. */
  readonly epoch: number
  /** Only with durable runs: how often a worker had taken the run when it last stopped. */
  readonly attempts?: number
  /** When another process may take over the turn, in milliseconds since the epoch. 0: at once, or it is not running. */
  readonly leaseUntil: number
  /** Why the turn is being stopped or closed. Its open calls get this reason as their result. Absent: it is not being stopped. */
  readonly closing?: string
  /** The answers to its newest questions. */
  readonly answers?: Answers
  /** Its newest questions. */
  readonly interrupts?: readonly PendingInterrupt[]
  /** Only of a waiting turn: the results of the calls that did not ask. */
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
  /** Whether the event is stored for good. Absent: it is dropped when its step has ended. */
  readonly isKept?: boolean
  readonly event: ThreadEventBody
}

/** The records from which a change is decided. */
export interface StoredThread {
  readonly thread: ThreadRecord
  /** The turns that have not ended, the newest turn that has begun, and the turns named in {@link Asked}; ordered by number. */
  readonly turns: readonly TurnRecord[]
}

/** A change to a thread, written in one transaction. Absent members change nothing. */
export interface Change<Result> {
  readonly result: Result
  readonly thread?: ThreadRecord
  /** New and changed turns. */
  readonly turns?: readonly TurnRecord[]
  readonly events?: readonly StoredEvent[]
  /** Deletes the events up to this `seq` that are not kept. */
  readonly droppedThrough?: number
  /** The `seq` of each event that is superseded. */
  readonly retracted?: readonly number[]
  /**
   * All stored events and turns from this `seq` on are superseded, and the checkpoints of those turns are deleted. This happens before the rest of
   * the change is written, so its own events and turns are not superseded.
   */
  readonly supersededFrom?: number
  /** Saved like `CheckpointStore.save`; if that throws, nothing of the change is written. */
  readonly checkpoint?: { readonly id: string; readonly checkpoint: StoredCheckpoint; readonly expected: number }
  /** Ids of checkpoints to delete. */
  readonly forgotten?: readonly string[]
  /** Deletes all turns, events and checkpoints of the thread. */
  readonly isErased?: boolean
}

/** Turns to load in addition to those that are always loaded: by id, or by the id of their message. */
export interface Asked {
  readonly turn?: string
  readonly messageId?: string
}

export interface ChangeOptions extends Asked {
  /** The write need not wait for the disk: it may be lost if the machine loses power. */
  readonly isFleeting?: boolean
}

export interface EventQuery {
  /** Only events with a higher `seq`. Default 0. */
  readonly after?: number
  readonly turn?: string
  readonly keptOnly?: boolean
  readonly limit?: number
}

/**
 * Keeps threads and the checkpoints of their runs. It never returns superseded turns and events. If you write your own store, test it with
 * `threadStoreContract` of `@meanwhile/threads/testing`.
 */
export interface ThreadStore {
  readonly checkpoints: CheckpointStore
  /** Returns undefined if the thread does not exist. */
  load(id: string, asked?: Asked): Promise<StoredThread | undefined>
  /**
   * Reads the thread, calls `decide`, and writes the change that it returns, all in one transaction. `decide` is synchronous and may be called more
   * than once. If it throws, `change` rejects with that error, and nothing is written.
   */
  change<Result>(
    id: string,
    decide: (stored: StoredThread | undefined) => Change<Result>,
    options?: ChangeOptions,
  ): Promise<Result>
  /** Returns events in the order of their `seq`. */
  events(id: string, query?: EventQuery): Promise<readonly StoredEvent[]>
  /** Returns all turns, ordered by number. */
  turns(id: string): Promise<readonly TurnRecord[]>
  /** Returns threads, newest first, without deleted ones. `after`: the id of the last thread of the previous page. */
  list(options: { readonly after?: string; readonly limit: number }): Promise<readonly ThreadRecord[]>
  /** Returns the ids of threads that need a process: the lease of their running turn has expired, or they have a queue that is not paused and no active turn. */
  due(now: number, limit: number): Promise<readonly string[]>
}

/** Whether the turn is over for good. */
export function isEnd({ status }: TurnRecord): boolean {
  return status === 'completed' || status === 'stopped' || status === 'failed' || status === 'dropped'
}
