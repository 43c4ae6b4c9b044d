/** A turn, as its caller sees it. */

import type { Json, PendingInterrupt, Usage } from '@meanwhile/core'
import { seqOf } from './cursor.ts'
import type { Host } from './host.ts'
import { replay } from './replay.ts'
import { UnknownTurnError } from './thread-errors.ts'
import type { ErrorInfo, ThreadEvent } from './thread-events.ts'
import { alive, newThread } from './thread-records.ts'
import { isEnd, type TurnRecord, type TurnStatus } from './thread-store.ts'

/** How a turn has ended, or what it waits for. */
export interface TurnResult {
  readonly status: Exclude<TurnStatus, 'queued' | 'running' | 'joined'>
  /** The text of the answer; empty unless the turn has completed. */
  readonly text: string
  readonly output?: Json
  readonly usage?: Usage
  /** Of a failed turn. */
  readonly error?: ErrorInfo
  /** Of a turn that waits. */
  readonly interrupts?: readonly PendingInterrupt[]
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

export function turnHandle(host: Host, thread: string, id: string): Turn {
  return {
    id,
    thread,
    async *events({ after, signal } = {}) {
      const stored = alive((await host.store.load(thread)) ?? newThread(thread, '', 0))
      yield* replay(host, stored.thread, id, seqOf(stored.thread, after), signal)
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
  const { status, text = '', output, usage, error, interrupts } = turn
  if (!isEnd(turn) && status !== 'waiting') return undefined
  if (status === 'queued' || status === 'running' || status === 'joined') return undefined
  return {
    status,
    text,
    ...(output !== undefined && { output }),
    ...(usage && { usage }),
    ...(error && { error }),
    ...(status === 'waiting' && interrupts && { interrupts }),
  }
}
