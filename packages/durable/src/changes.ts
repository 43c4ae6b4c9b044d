/** Tells this process that something about a run has changed in the database: by LISTEN on one connection, and by a clock in case that is lost. */

import type { Database, PostgresConnection } from './database.ts'

export const CHANNEL = 'meanwhile'

/** Milliseconds between two looks without a notification, when there is a connection that listens, and when there is none. */
const LOOK = { listening: 10_000, deaf: 1_000 }

export class Changes {
  readonly #database: Database
  readonly #watchers = new Map<string, Set<() => void>>()
  #connection: PostgresConnection | undefined
  #isConnecting = false
  #clock: ReturnType<typeof setTimeout> | undefined

  constructor(database: Database) {
    this.#database = database
  }

  /** Calls `wake` after each change of the run, and now and then without one. The connection is held as long as somebody watches. */
  watch(id: string, wake: () => void): () => void {
    const watchers = this.#watchers.get(id) ?? new Set()
    this.#watchers.set(id, watchers.add(wake))
    this.#listen()
    return () => {
      watchers.delete(wake)
      if (watchers.size === 0 && this.#watchers.get(id) === watchers) this.#watchers.delete(id)
      if (this.#watchers.size === 0) this.#close()
    }
  }

  /** Tells all processes that the run has changed. If that fails, they find out by the clock. */
  tell(id: string): void {
    this.#database.query(`SELECT pg_notify($1, $2)`, [CHANNEL, this.payload(id)]).catch(() => undefined)
  }

  /** What is told over {@link CHANNEL}. */
  payload(id: string): string {
    return `${this.#database.schema} ${id}`
  }

  #listen(): void {
    if (this.#clock === undefined) this.#wait()
    if (this.#connection || this.#isConnecting) return
    this.#isConnecting = true
    this.#connect()
      .catch(() => undefined)
      .finally(() => {
        this.#isConnecting = false
      })
  }

  async #connect(): Promise<void> {
    const connection = await this.#database.pool.connect()
    const lost = () => this.#lose(connection)
    connection.on('error', lost)
    connection.on('end', lost)
    connection.on('notification', ({ payload = '' }) => {
      const [schema] = payload.split(' ', 1)
      if (schema === this.#database.schema) this.#wake(payload.slice(schema.length + 1))
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
    // What was told before it listened.
    this.#wakeAll()
  }

  #lose(connection: PostgresConnection): void {
    if (this.#connection !== connection) return
    this.#connection = undefined
    connection.release(true)
    this.#wait()
  }

  #close(): void {
    clearTimeout(this.#clock)
    this.#clock = undefined
    const connection = this.#connection
    this.#connection = undefined
    connection?.release(true)
  }

  /** Sets the clock. */
  #wait(): void {
    clearTimeout(this.#clock)
    this.#clock = setTimeout(
      () => {
        this.#wait()
        this.#listen()
        this.#wakeAll()
      },
      this.#connection ? LOOK.listening : LOOK.deaf,
    )
  }

  #wake(id: string): void {
    for (const wake of this.#watchers.get(id) ?? []) wake()
  }

  #wakeAll(): void {
    for (const id of this.#watchers.keys()) this.#wake(id)
  }
}
