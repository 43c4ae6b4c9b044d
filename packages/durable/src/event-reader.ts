/** Reads the events of runs. Readers of the same run in this process share what is fetched. */

import type { AgentEvent } from '@meanwhile/core'
import type { Changes } from './changes.ts'
import type { Database } from './database.ts'
import type { RunStopped } from './durable-run.ts'
import { CursorError } from './errors.ts'
import type { RunEnd, RunsTable } from './runs-table.ts'

export interface ReadEvent {
  /** Give it as `after` to go on behind this event: two numbers with a point between them, which grow from event to event. */
  readonly cursor: string
  readonly event: AgentEvent | RunStopped
}

export interface ReadOptions {
  /** A cursor: reads what comes behind it. Default: from the beginning. */
  readonly after?: string
  /** `false`: ends behind the events that are stored by now. Default `true`: waits for more, as long as the run lives. */
  readonly follow?: boolean
  /** Aborted: the reader ends with its reason. The run goes on. */
  readonly signal?: AbortSignal
}

/** Batches that are fetched at once. */
const PAGE = 100

/** Batches that are kept for other readers of the same run. */
const KEPT = 256

interface Batch {
  readonly seq: number
  readonly events: readonly (AgentEvent | RunStopped)[]
}

export class EventReader {
  readonly #database: Database
  readonly #runs: RunsTable
  readonly #changes: Changes
  readonly #tails = new Map<string, Tail>()

  constructor(database: Database, runs: RunsTable, changes: Changes) {
    this.#database = database
    this.#runs = runs
    this.#changes = changes
  }

  async *read(
    id: string,
    { after, follow = true, signal }: ReadOptions = {},
  ): AsyncGenerator<ReadEvent, void, undefined> {
    const from = after === undefined ? { done: 0, seq: 0, index: 0, isEnd: false } : placeOf(id, after)
    let { done, isEnd } = from
    signal?.throwIfAborted()
    const tail = follow ? this.#join(id, done) : undefined
    try {
      for (;;) {
        const { version = 0, end } = tail ?? {}
        const batches = await (tail ? tail.after(done) : fetched(this.#database, id, done))
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
        if (!tail) return
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

  /** Waits for the end of the run. @throws {UnknownRunError} There is no such run, or it was deleted. */
  async end(id: string, signal?: AbortSignal): Promise<RunEnd> {
    signal?.throwIfAborted()
    return await new Promise<RunEnd>((resolve, reject) => {
      const over = () => {
        unwatch()
        signal?.removeEventListener('abort', aborted)
      }
      const fail = (error: unknown) => {
        over()
        reject(error)
      }
      const aborted = () => fail(signal?.reason)
      const look = async () => {
        const end = await this.#runs.end(id)
        if (!end) return
        over()
        resolve(end)
      }
      const unwatch = this.#changes.watch(id, () => void look().catch(fail))
      signal?.addEventListener('abort', aborted)
      look().catch(fail)
    })
  }

  #join(id: string, from: number): Tail {
    const known = this.#tails.get(id)
    const tail = known ?? new Tail(this.#database, this.#runs, this.#changes, id, from)
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
  /** Known once all events are here. */
  end: RunEnd | undefined
  readonly #database: Database
  readonly #runs: RunsTable
  readonly #id: string
  /** It has all batches behind this one. */
  #from: number
  #batches: Batch[] = []
  #isUpdating = false
  #isStale = false
  #waiting = new Set<{ resolve(): void; reject(error: unknown): void }>()
  readonly #unwatch: () => void

  constructor(database: Database, runs: RunsTable, changes: Changes, id: string, from: number) {
    this.#database = database
    this.#runs = runs
    this.#id = id
    this.#from = from
    this.#unwatch = changes.watch(id, () => this.#refresh())
    this.#refresh()
  }

  async after(seq: number): Promise<readonly Batch[]> {
    if (seq < this.#from) return await fetched(this.#database, this.#id, seq)
    return this.#batches.filter((batch) => batch.seq > seq)
  }

  /** Resolves when the version is another one. Rejects if the database fails, or the run is not there. */
  async changed(version: number, signal?: AbortSignal): Promise<void> {
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

  #refresh(): void {
    this.#isStale = true
    if (this.#isUpdating) return
    this.#isUpdating = true
    this.#update()
      .catch((error: unknown) => {
        for (const one of this.#waiting) one.reject(error)
      })
      .finally(() => {
        this.#isUpdating = false
      })
  }

  async #update(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false
      // First the status: whoever ends a run has written its events before.
      const end = await this.#runs.end(this.#id)
      let hasMore = true
      while (hasMore) {
        const batches = await fetched(this.#database, this.#id, this.#batches.at(-1)?.seq ?? this.#from)
        hasMore = batches.length === PAGE
        if (batches.length > 0) this.#add(batches)
      }
      if (end !== undefined || this.end !== undefined) this.#tell(end)
    }
  }

  #add(batches: readonly Batch[]): void {
    this.#batches.push(...batches)
    const dropped = this.#batches.splice(0, Math.max(0, this.#batches.length - KEPT))
    this.#from = dropped.at(-1)?.seq ?? this.#from
    this.#tell(undefined)
  }

  #tell(end: RunEnd | undefined): void {
    this.end = end
    this.version++
    for (const one of this.#waiting) one.resolve()
  }
}

/** The next batches behind this number. */
async function fetched(database: Database, id: string, after: number): Promise<readonly Batch[]> {
  const rows = await database.query(
    `SELECT seq, batch FROM ${database.table('events')} WHERE id = $1 AND seq > $2 ORDER BY seq LIMIT ${PAGE}`,
    [id, after],
  )
  return rows.map(({ seq, batch }) => ({ seq: Number(seq), events: JSON.parse(String(batch)) }))
}

/** All batches up to `done` are read, and of that with `seq` so many events. */
interface Place {
  readonly done: number
  readonly seq: number
  readonly index: number
  /** The end was read, too. */
  readonly isEnd: boolean
}

function placeOf(id: string, cursor: string): Place {
  const [, batch, index] = /^(\d{1,10})\.(\d{1,10}|end)$/.exec(String(cursor)) ?? []
  if (batch === undefined || index === undefined) throw new CursorError(id)
  const seq = Number(batch)
  if (index === 'end') return { done: seq, seq: 0, index: 0, isEnd: true }
  return { done: seq - 1, seq, index: Number(index), isEnd: false }
}
