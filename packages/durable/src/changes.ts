/** Notifies this process when a run changes in the database: by LISTEN on one connection, and by polling in case a notification is lost. */

import { coalesced } from './coalesced.ts'
import type { Database, PostgresConnection, PostgresPool } from './database.ts'
import { isTransient } from './retryable-errors.ts'

const CHANNEL = 'meanwhile'

/** Milliseconds between two checks of the connection. Without one that receives notifications, each check is also a poll. */
const CHECK_INTERVAL = 1_000

/** Checks between two polls, with a connection that receives notifications. */
const CHECKS_PER_POLL = 10

interface Watcher {
  /** `isCompletion`: because the run has completed. */
  wake(isCompletion: boolean): void
  /** Whether it also reads the events of the run. */
  readonly readsEvents: boolean
}

export class Changes {
  readonly #database: Database
  readonly #pool: PostgresPool
  readonly #watchers = new Map<string, Set<Watcher>>()
  #connection: PostgresConnection | undefined
  /** A notification has arrived on the connection. A pooler may accept LISTEN and deliver nothing. */
  #isReceiving = false
  #isConnecting = false
  #pollTimer: ReturnType<typeof setTimeout> | undefined
  /** The checks since the last poll. */
  #checks = 0

  /** `pool`: the pool of the listening connection. */
  constructor(database: Database, pool: PostgresPool = database.pool) {
    this.#database = database
    this.#pool = pool
  }

  /**
   * Calls `wake` after each change of the run, and now and then without one; with `readsEvents` also when the run has new events. The connection stays
   * open while there is a watcher.
   */
  watch(id: string, wake: Watcher['wake'], readsEvents = false): () => void {
    const watchers = this.#watchers.get(id) ?? new Set()
    const watcher = { wake, readsEvents }
    this.#watchers.set(id, watchers.add(watcher))
    this.#listen()
    return () => {
      watchers.delete(watcher)
      if (watchers.size === 0 && this.#watchers.get(id) === watchers) this.#watchers.delete(id)
      if (this.#watchers.size === 0) this.#close()
    }
  }

  /**
   * Calls `look` now and after changes of the run, one call at a time, until it returns a value. Calls it again after a failure of the database.
   * `isCompleted`: this process was notified that a run with this id has completed.
   * @throws What else `look` throws, and the reason of the signal.
   */
  async until<Found>(
    id: string,
    look: (isCompleted: boolean) => Promise<Found | undefined>,
    signal?: AbortSignal,
  ): Promise<Found> {
    signal?.throwIfAborted()
    return await new Promise<Found>((resolve, reject) => {
      let isOver = false
      let isCompleted = false
      const over = () => {
        isOver = true
        unwatch()
        signal?.removeEventListener('abort', aborted)
      }
      const fail = (error: unknown) => {
        over()
        reject(error)
      }
      const aborted = () => fail(signal?.reason)
      const check = coalesced(async () => {
        if (isOver) return
        try {
          const found = await look(isCompleted)
          if (found === undefined) return
          over()
          resolve(found)
        } catch (error) {
          if (!isTransient(error)) fail(error)
        }
      })
      const unwatch = this.watch(id, (isCompletion) => {
        isCompleted ||= isCompletion
        void check()
      })
      signal?.addEventListener('abort', aborted)
      void check()
    })
  }

  /** Notifies all processes that the run has changed. If that fails, they notice it when they poll. */
  notify(id: string): void {
    this.#database.query('SELECT pg_notify($1, $2)', [...this.notification(id)]).catch(() => undefined)
  }

  /** The notification that a run has changed, for `pg_notify`. */
  notification(id: string): readonly [channel: string, payload: string] {
    return [CHANNEL, `${this.#database.schema} ${id}`]
  }

  /** The notification that a run has completed: its result is in the checkpoint. */
  notificationOfCompletion(id: string): readonly [channel: string, payload: string] {
    return [CHANNEL, `${this.#database.schema}.completed ${id}`]
  }

  /** The notification that a run has new events. Who only waits for its end does not look then. */
  notificationOfEvents(id: string): readonly [channel: string, payload: string] {
    return [CHANNEL, `${this.#database.schema}.events ${id}`]
  }

  #listen(): void {
    if (this.#pollTimer === undefined) this.#schedulePoll()
    if (this.#connection || this.#isConnecting) return
    this.#isConnecting = true
    this.#connect()
      .catch(() => undefined)
      .finally(() => {
        this.#isConnecting = false
      })
  }

  async #connect(): Promise<void> {
    const connection = await this.#pool.connect()
    const lost = () => this.#dropConnection(connection)
    connection.on('error', lost)
    connection.on('end', lost)
    connection.on('notification', ({ payload = '' }) => {
      this.#isReceiving = true
      const [subject = ''] = payload.split(' ', 1)
      const id = payload.slice(subject.length + 1)
      if (subject === this.#database.schema) this.#wakeWatchers(id)
      else if (subject === `${this.#database.schema}.completed`) this.#wakeWatchers(id, true)
      else if (subject === `${this.#database.schema}.events`) this.#wakeReaders(id)
    })
    try {
      await connection.query(`LISTEN ${CHANNEL}`)
    } catch {
      connection.release(true)
      return
    }
    if (this.#watchers.size === 0) {
      connection.release(true)
      return
    }
    this.#connection = connection
    // Changes from before this connection listened.
    this.#wakeAll()
    // Tests whether notifications arrive.
    this.notify('')
  }

  #dropConnection(connection: PostgresConnection): void {
    if (this.#connection !== connection) return
    this.#connection = undefined
    this.#isReceiving = false
    connection.release(true)
    this.#schedulePoll()
  }

  /** A former primary that goes on as a standby notifies nobody any more. */
  readonly #dropFormerPrimary = coalesced(async () => {
    const connection = this.#connection
    if (!connection) return
    try {
      const { rows } = await connection.query('SHOW transaction_read_only')
      if (rows[0]?.transaction_read_only !== 'on') return
    } catch {
      // The connection is lost.
    }
    this.#dropConnection(connection)
    if (this.#watchers.size > 0) this.#listen()
  })

  #close(): void {
    clearTimeout(this.#pollTimer)
    this.#pollTimer = undefined
    const connection = this.#connection
    this.#connection = undefined
    this.#isReceiving = false
    connection?.release(true)
  }

  /** Starts the polling timer. */
  #schedulePoll(): void {
    clearTimeout(this.#pollTimer)
    this.#pollTimer = setTimeout(() => {
      // A reader that was forgotten must not keep the pool open, or the process alive.
      if (this.#pool.ending) {
        this.#wakeAll()
        this.#close()
        return
      }
      this.#schedulePoll()
      void this.#dropFormerPrimary()
      this.#listen()
      if (!this.#isReceiving || ++this.#checks >= CHECKS_PER_POLL) this.#wakeAll()
    }, CHECK_INTERVAL)
  }

  #wakeWatchers(id: string, isCompletion = false): void {
    for (const { wake } of this.#watchers.get(id) ?? []) wake(isCompletion)
  }

  #wakeReaders(id: string): void {
    for (const { wake, readsEvents } of this.#watchers.get(id) ?? []) if (readsEvents) wake(false)
  }

  #wakeAll(): void {
    this.#checks = 0
    for (const id of this.#watchers.keys()) this.#wakeWatchers(id)
  }
}
