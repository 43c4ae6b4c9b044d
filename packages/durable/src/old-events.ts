/** Deletes the stored events of runs that ended long ago. */

import { type Database, UNSYNCED } from './database.ts'

/** The batch that replaces all deleted events of a run. */
export const DELETED_BATCH = '[]'

/** How many runs one statement clears of their events. */
const PAGE = 100

/** The last run that was checked. */
interface Position {
  readonly at: string
  readonly id: string
}

export class OldEvents {
  readonly #database: Database
  readonly #keepFor: number
  /** Runs that ended before this one have no old events left. */
  #position: Position = { at: '-infinity', id: '' }

  /** `keepFor`: milliseconds since the end of a run, by the clock of the database. */
  constructor(database: Database, keepFor: number) {
    this.#database = database
    this.#keepFor = keepFor
  }

  /** Deletes old events. */
  async deleteAll(): Promise<void> {
    for (let hasMore = true; hasMore; ) hasMore = (await this.#deletePage()) === PAGE
  }

  /** Each run keeps one row with the next number: all cursors are below it, and a retry continues after it. */
  async #deletePage(): Promise<number> {
    const [runs, events] = [this.#database.table('runs'), this.#database.table('events')]
    const rows = await this.#database.query(
      `WITH page AS (
        SELECT id, ended_at FROM ${runs} WHERE ended_at < clock_timestamp() - $1 * interval '1 millisecond'
        AND (ended_at, id) > ($2::timestamptz, $3) ORDER BY ended_at, id LIMIT ${PAGE}),
      newest AS (SELECT id, max(seq) AS seq FROM ${events} WHERE id IN (SELECT id FROM page) GROUP BY id),
      dropped AS (DELETE FROM ${events} AS one USING newest, ${UNSYNCED} WHERE one.id = newest.id AND one.seq < newest.seq),
      emptied AS (UPDATE ${events} AS one SET seq = one.seq + 1, batch = '${DELETED_BATCH}', fleeting = false FROM newest
        WHERE one.id = newest.id AND one.seq = newest.seq AND one.batch <> '${DELETED_BATCH}')
      SELECT id, ended_at::text AS at FROM page ORDER BY ended_at, id`,
      [this.#keepFor, this.#position.at, this.#position.id],
    )
    const last = rows.at(-1)
    if (last) this.#position = { at: String(last.at), id: String(last.id) }
    return rows.length
  }
}
