/** A turn, as its caller sees it. */

import type { Json, PendingInterrupt, Usage } from '@meanwhile/core'
import { seqOf } from './cursor.ts'
import type { Host } from './host.ts'
import { replay } from './replay.ts'
import { UnknownTurnError } from './thread-errors.ts'
import type { ErrorInfo, ThreadEvent } from './thread-events.ts'
import { alive, newThread } from './thread-records.ts'
import type { TurnRecord } from './thread-store.ts'
import type { TurnRunner } from './turn-runner.ts'

/** How a turn has ended, or what it waits for. */
export type TurnResult = CompletedTurn | WaitingTurn | FailedTurn | StoppedTurn

interface ResultBase {
  /** The text of the answer; empty unless the turn has completed. */
  readonly text: string
  readonly usage?: Usage
  readonly output?: Json | undefined
  readonly error?: ErrorInfo | undefined
  readonly interrupts?: readonly PendingInterrupt[] | undefined
}

export interface CompletedTurn extends ResultBase {
  readonly status: 'completed'
  readonly error?: undefined
  readonly interrupts?: undefined
}

export interface WaitingTurn extends ResultBase {
  readonly status: 'waiting'
  readonly output?: undefined
  readonly error?: undefined
  /** What it waits for. */
  readonly interrupts: readonly PendingInterrupt[]
}

export interface FailedTurn extends ResultBase {
  readonly status: 'failed'
  readonly output?: undefined
  readonly error: ErrorInfo
  readonly interrupts?: undefined
}

/** `dropped`: it was stopped before it began. */
export interface StoppedTurn extends ResultBase {
  readonly status: 'stopped' | 'dropped'
  readonly output?: undefined
  readonly error?: undefined
  readonly interrupts?: undefined
}

export interface EventsOptions {
  /** The cursor of the last event that is known. Default: from the beginning of the turn. */
  readonly after?: string
  readonly signal?: AbortSignal
}

export interface Turn {
  readonly id: string
  /** The id of the thread. */
  readonly thread: string
  /**
   * The events of the turn, for any number of readers: complete steps by their messages, the step at work by its deltas, then what happens. It
   * ends when the turn ends, and when it waits for an answer. A reader that leaves stops nothing.
   *
   * @throws {CursorError} The cursor is damaged, or of another thread.
   * @throws {ThreadDeletedError} The thread was deleted.
   */
  events(options?: EventsOptions): AsyncGenerator<ThreadEvent, void>
  /** Resolves when the turn has ended, or waits for an answer. A turn that fails resolves, too: its `status` says so. */
  readonly result: Promise<TurnResult>
}

/** A turn that goes on with an answer, or again after it has failed. */
export interface ResumedTurn extends Turn {
  /** Where it went on: `events({ after: cursor })` tells what came since. */
  readonly cursor: string
}

export function turnHandle(host: Host, runner: TurnRunner, thread: string, id: string): Turn {
  return {
    id,
    thread,
    async *events({ after, signal } = {}) {
      const stored = alive((await host.store.load(thread)) ?? newThread(thread, '', 0))
      yield* replay(host, runner, stored.thread, id, seqOf(stored.thread, after), signal)
    },
    get result() {
      const result = resultOf(host, thread, id)
      // Nobody has to wait for it.
      result.catch(() => undefined)
      return result
    },
  }
}

async function resultOf(host: Host, thread: string, id: string): Promise<TurnResult> {
  for (let turn = id; ; ) {
    const woken = host.wakes.listen(thread)
    try {
      const stored = alive((await host.store.load(thread, { turn })) ?? newThread(thread, '', 0))
      const record = stored.turns.find(({ id }) => id === turn)
      if (!record) throw new UnknownTurnError(thread, turn)
      const result = resultIn(record)
      if (result) return result
      if (record.joined === undefined) await woken.next()
      else turn = record.joined
    } finally {
      woken.close()
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
