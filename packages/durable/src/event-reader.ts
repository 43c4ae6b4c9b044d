/** Reads the events of runs. Readers of the same run in this process share fetched events. */

import type { AgentEvent, CheckpointStore } from '@meanwhile/core'
import { type ReadOptions, readOptions } from './call-options.ts'
import type { Changes } from './changes.ts'
import { coalesced } from './coalesced.ts'
import type { Database } from './database.ts'
import type { RunStopped } from './durable-run.ts'
import { CursorError, UnknownRunError } from './errors.ts'
import { isInt32, isRunId } from './given.ts'
import { DELETED_BATCH } from './old-events.ts'
import { isTransient } from './retryable-errors.ts'
import type { RunEnd, RunsTable } from './runs-table.ts'
import { findCheckpoint } from './stored-checkpoint.ts'

/** An event with its place in the run. */
export interface ReadEvent {
  /** Pass it as `after` to continue after this event. It is two numbers joined by a point, and grows from event to event. */
  readonly cursor: string
  /** The event. */
  readonly event: AgentEvent | RunStopped
}

/** How many batches are fetched at once. */
const PAGE = 100

/** How many batches are kept for other readers of the same run. */
const MAX_KEPT = 256

interface Batch {
  readonly seq: number
  readonly events: readonly (AgentEvent | RunStopped)[]
}

/** The sources of events. */
interface EventSources {
  readonly database: Database
  readonly runs: RunsTable
  readonly changes: Changes
  /** For the history of a run whose events were deleted. */
  readonly store: CheckpointStore
}

export class EventReader {
  readonly #source: EventSources
  readonly #tails = new Map<string, Tail>()

  constructor(source: EventSources) {
    this.#source = source
  }

  /** `return` of the iterator ends a waiting reader at once. */
  read(id: string, options: ReadOptions = {}): AsyncIterableIterator<ReadEvent, void, undefined> {
    const { signal, ...checked } = readOptions(options)
    const left = new AbortController()
    const signals = signal ? AbortSignal.any([signal, left.signal]) : left.signal
    const events = this.#events(id, { ...checked, signal: signals })
    return {
      async next() {
        try {
          return await events.next()
        } catch (error) {
          if (left.signal.aborted && error === left.signal.reason) return { done: true, value: undefined }
          throw error
        }
      },
      async return() {
        left.abort()
        return await events.return()
      },
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }

  async *#events(
    id: string,
    { after, follow = true, signal }: ReadOptions,
  ): AsyncGenerator<ReadEvent, void, undefined> {
    if (!isRunId(id)) throw new UnknownRunError(id)
    const from = after === undefined ? { done: 0, seq: 0, index: 0, isEnd: false } : parseCursor(id, after)
    let { done, isEnd } = from
    signal?.throwIfAborted()
    const tail = follow ? this.#join(id, done) : undefined
    try {
      for (;;) {
        const { version = 0, end } = tail ?? {}
        const batches = await (tail ? tail.after(done) : fetchBatches(this.#source, id, done))
        if (!batches) {
          await tail?.changed(version, signal)
          continue
        }
        for (const { seq, events } of batches) {
          isEnd = false
          for (const [index, event] of events.entries()) {
            if (seq === from.seq && index < from.index) continue
            yield { cursor: `${seq}.${index + 1}`, event }
            signal?.throwIfAborted()
          }
          done = seq
        }
        if (batches.length > 0) continue
        if (!tail) {
          // Throws if the run does not exist.
          await this.#source.runs.end(id)
          return
        }
        if (end) {
          if (!isEnd) yield { cursor: `${done}.end`, event: { type: 'run-stopped', ...end } }
          return
        }
        await tail.changed(version, signal)
      }
    } finally {
      if (tail) this.#leave(id, tail)
    }
  }

  #join(id: string, from: number): Tail {
    const known = this.#tails.get(id)
    const tail = known ?? new Tail(this.#source, id, from)
    this.#tails.set(id, tail)
    tail.readers++
    return tail
  }

  #leave(id: string, tail: Tail): void {
    if (--tail.readers > 0) return
    tail.close()
    this.#tails.delete(id)
  }
}

/** The newest events of a run, which its readers in this process share. */
class Tail {
  readers = 0
  /** Grows with each change. */
  version = 0
  /** Set when all events are here. */
  end: RunEnd | undefined
  readonly #source: EventSources
  readonly #id: string
  /** All batches after this one are here. */
  #from: number
  #batches: Batch[] = []
  /** Whether the database has failed since the last change. */
  #hasFailed = false
  #waiting = new Set<{ resolve(): void; reject(error: unknown): void }>()
  readonly #update = coalesced(() => this.#fetchAll())
  readonly #unwatch: () => void

  constructor(source: EventSources, id: string, from: number) {
    this.#source = source
    this.#id = id
    this.#from = from
    this.#unwatch = source.changes.watch(id, () => void this.#refresh(), true)
    void this.#refresh()
  }

  /** Returns undefined if the database has failed: a change follows when it is back. */
  async after(seq: number): Promise<readonly Batch[] | undefined> {
    if (seq >= this.#from) return this.#batches.filter((batch) => batch.seq > seq)
    try {
      return await fetchBatches(this.#source, this.#id, seq)
    } catch (error) {
      if (!isTransient(error)) throw error
      this.#hasFailed = true
      return undefined
    }
  }

  /** Resolves when the version has changed. Rejects if the run does not exist, or with the reason of the signal. */
  async changed(version: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    if (version !== this.version) return
    await new Promise<void>((resolve, reject) => {
      const settled = () => {
        this.#waiting.delete(waiting)
        signal?.removeEventListener('abort', aborted)
      }
      const waiting = {
        resolve() {
          settled()
          resolve()
        },
        reject(error: unknown) {
          settled()
          reject(error)
        },
      }
      const aborted = () => waiting.reject(signal?.reason)
      this.#waiting.add(waiting)
      signal?.addEventListener('abort', aborted)
    })
  }

  close(): void {
    this.#unwatch()
  }

  async #refresh(): Promise<void> {
    try {
      await this.#update()
    } catch (error) {
      if (isTransient(error)) this.#hasFailed = true
      else for (const one of this.#waiting) one.reject(error)
    }
  }

  async #fetchAll(): Promise<void> {
    // The status first: the worker that ends a run has written its events before.
    const end = await this.#source.runs.end(this.#id)
    for (let hasMore = true; hasMore; ) {
      const batches = await fetchBatches(this.#source, this.#id, this.#batches.at(-1)?.seq ?? this.#from)
      hasMore = batches.length === PAGE
      if (batches.length > 0) this.#add(batches)
    }
    if (end !== undefined || this.end !== undefined || this.#hasFailed) this.#publish(end)
  }

  #add(batches: readonly Batch[]): void {
    this.#batches.push(...batches)
    const dropped = this.#batches.splice(0, Math.max(0, this.#batches.length - MAX_KEPT))
    this.#from = dropped.at(-1)?.seq ?? this.#from
    this.#publish(undefined)
  }

  #publish(end: RunEnd | undefined): void {
    this.end = end
    this.#hasFailed = false
    this.version++
    for (const one of this.#waiting) one.resolve()
  }
}

/** The next batches after this number. */
async function fetchBatches(source: EventSources, id: string, after: number): Promise<readonly Batch[]> {
  const { database } = source
  const rows = await database.read(
    `SELECT seq, batch FROM ${database.table('events')} WHERE id = $1 AND seq > $2 ORDER BY seq LIMIT ${PAGE}`,
    [id, after],
  )
  return await Promise.all(
    rows.map(async ({ seq, batch }) => ({
      seq: Number(seq),
      events: batch === DELETED_BATCH ? await historyOf(source, id) : JSON.parse(String(batch)),
    })),
  )
}

/** The events that replace deleted ones. */
async function historyOf({ store }: EventSources, id: string): Promise<readonly AgentEvent[]> {
  const checkpoint = await findCheckpoint(store, id)
  return checkpoint ? [{ type: 'history-replaced', runId: id, messages: checkpoint.messages }] : []
}

/** All batches up to `done` are read, and this many events of the batch `seq`. */
interface Position {
  readonly done: number
  readonly seq: number
  readonly index: number
  /** The end was also read. */
  readonly isEnd: boolean
}

function parseCursor(id: string, cursor: string): Position {
  const [, batch, index] = /^(\d{1,10})\.(\d{1,10}|end)$/.exec(String(cursor)) ?? []
  if (batch === undefined || index === undefined || !isInt32(Number(batch))) throw new CursorError(id)
  const seq = Number(batch)
  if (index === 'end') return { done: seq, seq: 0, index: 0, isEnd: true }
  return { done: seq - 1, seq, index: Number(index), isEnd: false }
}
