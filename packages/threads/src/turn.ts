/** The handle of a turn, with which callers read its events and its result. */

import type { Json, PendingInterrupt, Usage } from '@meanwhile/core'
import { seqOf } from './cursor.ts'
import type { Host } from './host.ts'
import { replay } from './replay.ts'
import { UnknownTurnError } from './thread-errors.ts'
import type { ErrorInfo, ThreadEvent } from './thread-events.ts'
import { newThread, notDeleted } from './thread-records.ts'
import type { TurnRecord } from './thread-store.ts'
import type { TurnRunner } from './turn-runner.ts'

/** How a turn has ended, or the questions that it waits for. */
export type TurnResult = CompletedTurn | WaitingTurn | FailedTurn | StoppedTurn

interface ResultBase {
  /** The text of the final answer; empty unless the turn has completed. */
  readonly text: string
  /** The tokens that the turn has used; absent if none were reported. */
  readonly usage?: Usage
  /** The value of the agent's `output` schema; absent without such a schema. */
  readonly output?: Json | undefined
  /** The error of a failed turn. */
  readonly error?: ErrorInfo | undefined
  /** The questions that wait for an answer. */
  readonly interrupts?: readonly PendingInterrupt[] | undefined
}

/** A turn that has completed. */
export interface CompletedTurn extends ResultBase {
  readonly status: 'completed'
  readonly error?: undefined
  readonly interrupts?: undefined
}

/** A turn that waits for an answer. */
export interface WaitingTurn extends ResultBase {
  readonly status: 'waiting'
  readonly output?: undefined
  readonly error?: undefined
  /** The questions that wait for an answer. */
  readonly interrupts: readonly PendingInterrupt[]
}

/** A turn that failed. It can be retried. */
export interface FailedTurn extends ResultBase {
  readonly status: 'failed'
  readonly output?: undefined
  /** The error that ended the turn. */
  readonly error: ErrorInfo
  readonly interrupts?: undefined
}

/** A turn that was stopped. */
export interface StoppedTurn extends ResultBase {
  /** `dropped`: it was removed from the queue before it began. */
  readonly status: 'stopped' | 'dropped'
  readonly output?: undefined
  readonly error?: undefined
  readonly interrupts?: undefined
}

/** The options of `turn.events`. */
export interface EventsOptions {
  /** The cursor of an event: only later events are streamed. Default: all events of the turn. */
  readonly after?: string
  /** If it is aborted, the stream throws the reason of the signal. The turn continues. */
  readonly signal?: AbortSignal
}

/** A turn of a thread: a message of the user, and what the agent does until it has answered. */
export interface Turn {
  /** The id of the turn. Its run has the same id. */
  readonly id: string
  /** The id of the thread. */
  readonly thread: string
  /**
   * Streams the events of the turn: first the messages of complete steps, then the deltas of the running step, then new events. It ends when the turn
   * ends or waits for an answer. A turn can have any number of readers. A reader that stops reading does not stop the turn.
   *
   * @throws {CursorError} The cursor is damaged, or belongs to another thread.
   * @throws {ThreadDeletedError} The thread was deleted.
   */
  events(options?: EventsOptions): AsyncGenerator<ThreadEvent, void>
  /**
   * Resolves when the turn has ended or waits for an answer. It also resolves if the turn has failed: check its `status`. Rejects with
   * `ThreadDeletedError` if the thread was deleted, and with `UnknownTurnError` if the turn was superseded.
   */
  readonly result: Promise<TurnResult>
  /**
   * Only of a turn from `threads.turn`: how many milliseconds before that call it had ended or begun to wait for an answer, by the clock of the store.
   * Absent while it runs.
   */
  readonly endedFor?: number
}

/** A turn that continues with an answer or is retried. */
export interface ResumedTurn extends Turn {
  /** The cursor of the last event before it continued: `events({ after: cursor })` streams the later events. */
  readonly cursor: string
}

/** Returns the handle of a turn. */
export function turnHandle(host: Host, runner: TurnRunner, thread: string, id: string): Turn {
  return {
    id,
    thread,
    async *events({ after, signal } = {}) {
      const stored = notDeleted((await host.store.load(thread, { turn: id })) ?? newThread(thread, '', 0))
      const waited = runner.await(thread)
      try {
        yield* replay(host, runner, stored, id, seqOf(stored.thread, after), signal)
      } finally {
        waited()
      }
    },
    get result() {
      const result = resultOf(host, thread, id).finally(runner.await(thread))
      // Prevents an unhandled rejection if no caller awaits it.
      result.catch(() => undefined)
      return result
    },
  }
}

async function resultOf(host: Host, thread: string, id: string): Promise<TurnResult> {
  for (let turn = id; ; ) {
    const change = host.changes.listen(thread, turn, 'end')
    try {
      const stored = notDeleted((await host.store.load(thread, { turn })) ?? newThread(thread, '', 0))
      const record = stored.turns.find(({ id }) => id === turn)
      if (!record) throw new UnknownTurnError(thread, turn)
      const result = resultIn(record)
      if (result) return result
      if (record.joined === undefined) await change.next()
      else turn = record.joined
    } finally {
      change.close()
    }
  }
}

function resultIn(turn: TurnRecord): TurnResult | undefined {
  const { status, text = '', output, usage, error, interrupts = [] } = turn
  const base = { text, ...(usage && { usage }) }
  switch (status) {
    case 'completed':
      return { ...base, status, ...(output !== undefined && { output }) }
    case 'waiting':
      return { ...base, status, interrupts }
    case 'failed':
      return { ...base, status, error: error ?? { name: 'Error', message: '' } }
    case 'stopped':
    case 'dropped':
      return { ...base, status }
    default:
      return undefined
  }
}
