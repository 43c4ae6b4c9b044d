/** Events of runs that have ended long ago are dropped. */

import { type Database, UNSYNCED } from './database.ts'

/** A batch that stands for all that were dropped. */
export const DROPPED = '[]'

/** Runs whose events are dropped by one statement. */
const PAGE = 100

/** Milliseconds between two looks, at the least. */
const SELDOM = 60_000

/** The run that was looked at last. */
interface Place {
  readonly at: string
  readonly id: string
}

export class OldEvents {
  readonly #database: Database
  readonly #keepFor: number
  /** Runs that ended before it are done. */
  #done: Place = { at: '-infinity', id: '' }
  #lookedAt = Number.NEGATIVE_INFINITY
  #isAtWork = false

  /** `keepFor`: milliseconds from the end of a run, by the clock of the database. */
  constructor(database: Database, keepFor: number) {
    this.#database = database
    this.#keepFor = keepFor
  }

  /** Drops what is old, unless it was done a short time ago. If that fails it is done the next time, or by another worker. */
  drop(): void {
    const isSoon = performance.now() - this.#lookedAt < Math.min(SELDOM, this.#keepFor)
    if (this.#isAtWork || isSoon) return
    this.#isAtWork = true
    this.#lookedAt = performance.now()
    this.#dropAll()
      .catch(() => undefined)
      .finally(() => {
        this.#isAtWork = false
      })
  }

  async #dropAll(): Promise<void> {
    for (let hasMore = true; hasMore; ) hasMore = (await this.#dropPage()) === PAGE
  }

  /** Of each run one row stays, with the number that comes next: all cursors are below it, and a retry goes on behind it. */
  async #dropPage(): Promise<number> {
    const [runs, events] = [this.#database.table('runs'), this.#database.table('events')]
    const rows = await this.#database.query(
      `WITH page AS (
        SELECT id, ended_at FROM ${runs} WHERE ended_at < clock_timestamp() - $1 * interval '1 millisecond'
        AND (ended_at, id) > ($2::timestamptz, $3) ORDER BY ended_at, id LIMIT ${PAGE}),
      newest AS (SELECT id, max(seq) AS seq FROM ${events} WHERE id IN (SELECT id FROM page) GROUP BY id),
      dropped AS (DELETE FROM ${events} AS one USING newest, ${UNSYNCED} WHERE one.id = newest.id AND one.seq < newest.seq),
      emptied AS (UPDATE ${events} AS one SET seq = one.seq + 1, batch = '${DROPPED}', fleeting = false FROM newest
        WHERE one.id = newest.id AND one.seq = newest.seq AND one.batch <> '${DROPPED}')
      SELECT id, ended_at::text AS at FROM page ORDER BY ended_at, id`,
      [this.#keepFor, this.#done.at, this.#done.id],
    )
    const last = rows.at(-1)
    if (last) this.#done = { at: String(last.at), id: String(last.id) }
    return rows.length
  }
}
