/**
 * Writes the events of a run for its readers, in batches. The run never waits for it, and a failure here does not affect the run.
 * Once a later attempt of the run has written events, an earlier attempt writes nothing more.
 */

import type { AgentEvent, Message } from '@meanwhile/core'
import { postgresCode } from '@meanwhile/stores/postgres'
import type { Changes } from './changes.ts'
import { type Database, UNSYNCED } from './database.ts'
import type { RunStopped } from './durable-run.ts'

/** Events whose content the end of their step repeats. */
const DELTAS: ReadonlySet<string> = new Set([
  'text-delta',
  'reasoning-delta',
  'tool-input-start',
  'tool-input-delta',
  'tool-input-ready',
  'tool-input-closed',
  'tool-progress',
])

/** If the database cannot keep up, at most this many events wait; then deltas are dropped. */
const MAX_WAITING = 2_000

/** How long the end of a run waits for its last events, in milliseconds. */
const END_TIMEOUT = 3_000

/** More batches than a crash of the server can lose. Readers of lost batches have cursors with their numbers. */
const MAX_LOST_BATCHES = 1_000

/** The SQLSTATE of a row whose run does not exist. */
const FOREIGN_KEY_VIOLATION = '23503'

interface Newest {
  readonly seq: number
  readonly attempt: number
}

interface Waiting {
  readonly event: AgentEvent | RunStopped
  readonly text: string
  readonly isDelta: boolean
}

export class EventWriter {
  readonly #database: Database
  readonly #changes: Changes
  readonly #id: string
  readonly #attempt: number
  readonly #every: number
  #waiting: Waiting[] = []
  /** The history according to the written batches. */
  #history: Message[] | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  /** The number of the newest batch, once it is known. */
  #seq: number | undefined
  /** Batches up to this one have no deltas left. */
  #deltasDeletedTo = 0
  /** Whether later batches may have only deltas. An earlier attempt may have died before it deleted its own. */
  #mayHaveDeltas: boolean
  #isStepOver = false
  #isOver = false
  #isEnding = false
  #writing: Promise<void> | undefined

  /** `every`: how long an event may wait for others, in milliseconds. */
  constructor(
    database: Database,
    changes: Changes,
    run: { readonly id: string; readonly attempt: number },
    every: number,
  ) {
    this.#database = database
    this.#changes = changes
    this.#id = run.id
    this.#attempt = run.attempt
    this.#mayHaveDeltas = run.attempt > 1
    this.#every = every
  }

  push(event: AgentEvent | RunStopped): void {
    const isDelta = DELTAS.has(event.type)
    if (this.#isOver || (isDelta && this.#waiting.length >= MAX_WAITING)) return
    const text = textOf(event)
    if (text === undefined) return
    if (event.type === 'step-end' && !event.path) {
      // No reader needs them any more.
      this.#waiting = this.#waiting.filter((one) => !one.isDelta)
      this.#isStepOver = true
    }
    this.#waiting.push({ event, text, isDelta })
    this.#schedule()
  }

  /** Whether the newest stored event is a stop. */
  async endsWithStop(): Promise<boolean> {
    const [row] = await this.#database.read(
      `SELECT batch FROM ${this.#database.table('events')} WHERE id = $1 ORDER BY seq DESC LIMIT 1`,
      [this.#id],
    )
    const events: readonly (AgentEvent | RunStopped)[] = row ? JSON.parse(String(row.batch)) : []
    return events.at(-1)?.type === 'run-stopped'
  }

  /** Resolves when everything is written, or after a few seconds. */
  async end(): Promise<void> {
    this.#isEnding = true
    this.#flush()
    let timer: ReturnType<typeof setTimeout> | undefined
    const tooLong = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, END_TIMEOUT)
    })
    await Promise.race([this.#writing, tooLong])
    clearTimeout(timer)
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  /** Starts the timer of the next batch, unless a batch is being written. */
  #schedule(): void {
    if (!this.#writing) this.#timer ??= setTimeout(() => this.#flush(), this.#every)
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#waiting.length === 0) return
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined
      if (this.#waiting.length > 0 && !this.#isOver) this.#schedule()
    })
  }

  /** Writes the waiting events; at the end of the run, until no event waits. */
  async #write(): Promise<void> {
    do {
      const batch = this.#waiting
      const isStepOver = this.#isStepOver
      this.#waiting = []
      this.#isStepOver = false
      await this.#retried(() => this.#store(batch))
      if (isStepOver && this.#mayHaveDeltas) await this.#retried(() => this.#deleteDeltas())
    } while (this.#isEnding && this.#waiting.length > 0)
  }

  /** Repeats `work` until it succeeds. */
  async #retried(work: () => Promise<void>): Promise<void> {
    for (let failures = 0; !this.#isOver; failures++) {
      try {
        await work()
        return
      } catch (error) {
        if (postgresCode(error) === FOREIGN_KEY_VIOLATION) this.#isOver = true
        else await pause(Math.min(1_000, 50 * 2 ** failures))
      }
    }
  }

  async #store(batch: readonly Waiting[]): Promise<void> {
    const text = `[${batch.map((one) => one.text).join(',')}]`
    const hasOnlyDeltas = batch.every((one) => one.isDelta)
    if (hasOnlyDeltas) this.#mayHaveDeltas = true
    const events = this.#database.table('events')
    const isFirst = this.#seq === undefined
    const seq = this.#seq ?? (this.#attempt === 1 ? 0 : this.#firstSeq(await this.#newest()))
    if (this.#isOver) return
    const [written] = await this.#database.query(
      `INSERT INTO ${events} (id, seq, attempt, fleeting, batch)
      SELECT $1::text, $2::integer + 1, $3::integer, $4::boolean, $5::text FROM ${UNSYNCED}
      WHERE NOT EXISTS (SELECT 1 FROM ${events} WHERE id = $1::text AND seq > $2::integer)
      ON CONFLICT DO NOTHING RETURNING pg_notify($6::text, $7::text), EXISTS (SELECT 1 FROM ${events} WHERE id = $1::text AND seq = $2::integer) AS follows`,
      [this.#id, seq, this.#attempt, hasOnlyDeltas, text, ...this.#changes.notificationOfEvents(this.#id)],
    )
    if (written) {
      this.#seq = seq + 1
      this.#followHistory(batch)
      if (!isFirst && written.follows === false) this.#rewriteHistory()
      return
    }
    // An earlier try wrote it and its response was lost, or another attempt of the run has taken the number.
    const newest = await this.#newest()
    if (newest.attempt < this.#attempt) {
      this.#seq = undefined
      await this.#store(batch)
      return
    }
    this.#seq = this.#checkNewest(newest)
    this.#followHistory(batch)
  }

  #followHistory(batch: readonly Waiting[]): void {
    for (const { event } of batch) {
      if ('path' in event && event.path) continue
      if (event.type === 'history-replaced') this.#history = [...event.messages]
      if (event.type === 'message') this.#history?.push(event.message)
    }
  }

  /** The server has crashed, and the batches before this one are lost: the history is written again. */
  #rewriteHistory(): void {
    if (!this.#history) return
    const event: AgentEvent = { type: 'history-replaced', runId: this.#id, messages: [...this.#history] }
    this.#waiting.unshift({ event, text: JSON.stringify(event), isDelta: false })
  }

  /** The number after which this attempt begins to write. */
  #firstSeq(newest: Newest): number {
    return this.#checkNewest(newest) + (this.#attempt > 1 ? MAX_LOST_BATCHES : 0)
  }

  #checkNewest({ seq, attempt }: Newest): number {
    if (attempt > this.#attempt) this.#isOver = true
    return seq
  }

  async #newest(): Promise<Newest> {
    const [row] = await this.#database.read(
      `SELECT seq, attempt FROM ${this.#database.table('events')} WHERE id = $1 ORDER BY seq DESC LIMIT 1`,
      [this.#id],
    )
    return { seq: Number(row?.seq ?? 0), attempt: Number(row?.attempt ?? 0) }
  }

  /** Deletes the deltas of steps that have ended: late readers get the steps' messages. */
  async #deleteDeltas(): Promise<void> {
    const newest = this.#seq ?? 0
    await this.#database.query(
      `DELETE FROM ${this.#database.table('events')} USING ${UNSYNCED} WHERE id = $1 AND seq > $2 AND seq < $3 AND fleeting`,
      [this.#id, this.#deltasDeletedTo, newest],
    )
    this.#deltasDeletedTo = newest
    this.#mayHaveDeltas = false
  }
}

/** As JSON; undefined for a `custom` event with data that JSON cannot hold. */
function textOf(event: AgentEvent | RunStopped): string | undefined {
  try {
    return JSON.stringify(event)
  } catch {
    return undefined
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
