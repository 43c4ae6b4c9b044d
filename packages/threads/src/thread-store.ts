/** The interface of a store of threads, and the records that it keeps. */

import type {
  Answers,
  Checkpoint,
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
  /** The id of the thread. */
  readonly id: string
  /** A random text in each cursor of this thread, so that cursors of other threads are rejected. */
  readonly tag: string
  /** When its first message was stored. */
  readonly createdAt: number
  /** When it last changed. */
  readonly updatedAt: number
  /** The highest `seq` of its events. */
  readonly seq: number
  /** The number of turns so far. */
  readonly turns: number
  /** The history of the next run begins with the event of this `seq`. */
  readonly historyAt: number
  /** Whether the queue is stopped until the next message arrives. */
  readonly isPaused: boolean
  /** Whether the thread was deleted. Only this record is left of it. */
  readonly isDeleted: boolean
}

/** A turn. Times are milliseconds since the epoch. */
export interface TurnRecord {
  /** The id of the turn, and of its run. */
  readonly id: string
  /** From 1, in the order in which the messages arrived. */
  readonly number: number
  /** The status of the turn. */
  readonly status: TurnStatus
  /** The id of the message that begins the turn. */
  readonly messageId: string
  /** The user's message. Only before the turn begins; from then on the `turn-start` event has it. */
  readonly message?: UserMessage
  /** The `display` that was passed with the message, as long as the record has the message. */
  readonly display?: Json
  /** The `metadata` that was passed with the message. */
  readonly metadata?: Json
  /** The span that was active when the message was sent. If another process runs the turn, the span of the run links to it. */
  readonly trace?: NonNullable<Checkpoint['trace']>
  /** When the message was stored. */
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
  /** The `seq` of its first event. If its message has joined another turn: the `seq` of the message. Absent before that. */
  readonly startSeq?: number
  /** The `historyAt` of the thread when the turn began. */
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
  /** Only of a waiting turn: the results of the calls of the same step that asked nothing. */
  readonly settled?: readonly ToolMessage[]
  /** The error of a failed turn. */
  readonly error?: ErrorInfo
  /** Only of a failed turn: its checkpoint is no longer stored, so it cannot be retried. */
  readonly isFinal?: boolean
  /** The text of its final answer. */
  readonly text?: string
  /** The value of the agent's `output` schema. */
  readonly output?: Json
  /** The tokens that the turn has used. */
  readonly usage?: Usage
}

/** An event of a thread. */
export interface StoredEvent {
  /** Its number. The numbers of a thread increase and may have gaps. */
  readonly seq: number
  /** The id of the turn. */
  readonly turn: string
  /** Whether the event stays stored. Absent: it is deleted when its step has ended. */
  readonly isKept?: boolean
  /** The event. */
  readonly event: ThreadEventBody
}

/** The records that `ThreadStore.load` returns and `decide` receives. */
export interface StoredThread {
  /** The record of the thread. */
  readonly thread: ThreadRecord
  /** The turns that have not ended, the newest turn that has begun, and the turns named in the options; ordered by number. */
  readonly turns: readonly TurnRecord[]
}

/** An event with which the history of a checkpoint begins. It is stored before the checkpoint, or in the same change, and stays as long as the checkpoint. */
export interface CheckpointBase {
  /** The id of the thread. */
  readonly thread: string
  /** The `seq` of the first event that has these messages. */
  readonly from: number
  /** The `seq` of the event: a `turn-start`, or a `history-replaced` of the turn itself. */
  readonly seq: number
  /** How many messages the history has up to this event. */
  readonly count: number
  /** The hash of these messages. */
  readonly hash: string
}

/** A checkpoint to save. */
export interface SavedCheckpoint {
  /** The id of the run. */
  readonly id: string
  /** The whole checkpoint. */
  readonly checkpoint: StoredCheckpoint
  /** The revision that it replaces, or 0. */
  readonly expected: number
  /** The store need not store the messages up to this event again, if its `checkpoints.load` adds them. */
  readonly base?: CheckpointBase
}

/** A change to a thread, written in one transaction. Absent members change nothing. */
export interface Change<Result> {
  /** What `ThreadStore.change` resolves to. */
  readonly result: Result
  /** The changed record of the thread. */
  readonly thread?: ThreadRecord
  /** New and changed turns, each of them once. */
  readonly turns?: readonly TurnRecord[]
  /** New events. */
  readonly events?: readonly StoredEvent[]
  /** Deletes the events up to this `seq` that are not kept. */
  readonly droppedThrough?: number
  /** The `seq` of each event that becomes superseded. */
  readonly retracted?: readonly number[]
  /**
   * All stored events and turns from this `seq` on are superseded, and the checkpoints of those turns are deleted. This happens before the rest of
   * the change is written, so its own events and turns are not superseded.
   */
  readonly supersededFrom?: number
  /** A checkpoint to save, as by `CheckpointStore.save`. If that throws, nothing of the change is written. */
  readonly checkpoint?: SavedCheckpoint
  /** Ids of checkpoints to delete. */
  readonly deletedCheckpoints?: readonly string[]
  /** Deletes all turns, events and checkpoints of the thread. */
  readonly deletesAll?: boolean
}

/** The turns that are loaded in addition to those in {@link StoredThread.turns}. */
export interface LoadOptions {
  /** The id of a turn. */
  readonly turn?: string
  /** The id of the message that began a turn. */
  readonly messageId?: string
}

/** A running turn, and when its lease ends by what its owner knows. */
export interface LeasedTurn {
  /** The id of the turn. */
  readonly turn: string
  /** Its `leaseUntil`. */
  readonly leaseUntil: number
}

/** The options of `ThreadStore.change`. */
export interface ChangeOptions extends LoadOptions {
  /** Whether `change` may resolve before the change is on the disk. If the machine then loses power, the change may be lost. Default false. */
  readonly mayBeLost?: boolean
  /**
   * Whether the caller runs the turn that is named in `turn`. Few others change the thread then, so the store may call `decide` with the records that it
   * knows from the last change of this process, and again with the current ones if they have changed. Default false.
   */
  readonly isOwner?: boolean
}

/** Which events `ThreadStore.events` returns. */
export interface EventQuery {
  /** Only events with a higher `seq`. Default 0. */
  readonly after?: number
  /** Only events of the turn with this id. */
  readonly turn?: string
  /** Only kept events. Default false. */
  readonly keptOnly?: boolean
  /** The maximum number of events. Default: all. */
  readonly limit?: number
}

/**
 * Stores threads and the checkpoints of their runs. It never returns superseded turns and events. If you write your own store, test it with
 * `threadStoreContract` of `@meanwhile/threads/testing`.
 */
export interface ThreadStore {
  /** The checkpoints of the runs, by the id of the turn. */
  readonly checkpoints: CheckpointStore
  /** Returns the records of a thread; undefined if the thread does not exist. */
  load(id: string, options?: LoadOptions): Promise<StoredThread | undefined>
  /**
   * Reads the thread, calls `decide`, and writes the change that it returns, all in one transaction. `decide` is synchronous and may be called more
   * than once. If it throws, `change` rejects with that error, and nothing is written. `now`: the time of the store, as {@link ThreadStore.now} returns
   * it; a store that does not have that method passes none.
   */
  change<Result>(
    id: string,
    decide: (stored: StoredThread | undefined, now?: number) => Change<Result>,
    options?: ChangeOptions,
  ): Promise<Result>
  /** Returns events in the order of their `seq`. */
  events(id: string, query?: EventQuery): Promise<readonly StoredEvent[]>
  /** Returns all turns, ordered by number. */
  turns(id: string): Promise<readonly TurnRecord[]>
  /** Returns threads, newest first, without deleted ones. `after`: the id of the last thread of the previous page. */
  list(options: { readonly after?: string; readonly limit: number }): Promise<readonly ThreadRecord[]>
  /**
   * Renews the leases of running turns of any threads, in one statement: from the store's time, they end after `lease` milliseconds. Turns whose lease is
   * not the given one any more, or that have a reason for `closing`, are left out, and others may be. Returns when the renewed leases end, by id of the turn.
   */
  renewLeases(turns: readonly LeasedTurn[], lease: number): Promise<ReadonlyMap<string, number>>
  /**
   * Returns the ids of at most `limit` threads that no process works on: the lease of their running turn has expired before `now`, or they have
   * queued turns, no active turn, and are not paused.
   */
  due(now: number, limit: number): Promise<readonly string[]>
  /**
   * Returns the time of the store, in milliseconds since the epoch. It decides whether a lease has expired, so that processes may have different clocks.
   * Absent: all processes of the store are on one machine, and use its clock.
   */
  now?(): Promise<number>
}

/** Whether the turn has ended. A failed turn has ended too, although it can be retried. */
export function isEnd({ status }: TurnRecord): boolean {
  return status === 'completed' || status === 'stopped' || status === 'failed' || status === 'dropped'
}
