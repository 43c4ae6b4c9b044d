/** The PostgreSQL database of durable runs: its client, its tables, and the errors made from PostgreSQL's errors. */

import { CheckpointStoreError, ConfigError, checkOptions } from '@meanwhile/core'
import {
  openPostgres,
  type PostgresClient,
  type PostgresRow,
  type PostgresSchema,
  postgresCode,
  quotedSchema,
  readOnPrimary,
  setUpPostgres,
} from '@meanwhile/stores/postgres'
import { DurableError, DurableSetUpError, DurableStoreError } from './errors.ts'

/** A `Pool` of `pg`. */
export interface PostgresPool extends PostgresClient {
  /** Whether `end` was called. Then durable runs close their listening connection, so that `end` can resolve. */
  readonly ending?: boolean
  /** For `LISTEN`, which needs its own connection. */
  connect(): Promise<PostgresConnection>
}

export interface PostgresConnection extends PostgresClient {
  on(event: 'error' | 'end', listener: () => void): unknown
  on(event: 'notification', listener: (message: PostgresNotification) => void): unknown
  off(event: 'error', listener: () => void): unknown
  /** With `true` the connection is closed. */
  release(destroy?: boolean): void
}

/** A notification of PostgreSQL, as `pg` passes it on. */
export interface PostgresNotification {
  /** The text that was sent with the notification. */
  readonly payload?: string | undefined
}

/** The tables of one schema. */
export class Database {
  readonly pool: PostgresPool
  readonly schema: string
  /** Runs a function that may lose its connection. Repeats it after a lost connection, and on a server that has become a standby. */
  readonly retry: PostgresSchema['again']
  readonly #opened: PostgresSchema

  /** @throws {ConfigError} `pool` is not a pool, or `schema` is not a valid name. */
  constructor(pool: PostgresPool, schema = 'meanwhile') {
    if (typeof pool?.query !== 'function' || typeof pool.connect !== 'function')
      throw new ConfigError('pool', 'must have query and connect, as a Pool of pg has')
    this.pool = pool
    this.schema = schema
    // Fewer than the stores have, so that callers learn of a failure soon. Engines, readers and waiters try again by themselves.
    this.#opened = openPostgres({ pool, schema, retries: 3 }, 'setUpDurable')
    this.retry = this.#opened.again
  }

  /** The quoted name of a table, with its schema. */
  table(name: 'runs' | 'answers' | 'inbox' | 'events'): string {
    return `"${this.schema}".${name}`
  }

  /**
   * Runs a statement that is harmless if it runs twice.
   * @throws {DurableSetUpError} The database or its tables are missing or wrong.
   * @throws {DurableStoreError} The database has failed.
   */
  async query(text: string, values: unknown[] = []): Promise<readonly PostgresRow[]> {
    return await this.withNamedErrors(() => this.#opened.query(text, values))
  }

  /** Runs a SELECT as `query` does. A former primary refuses it, because it has old rows. */
  async read(select: string, values: unknown[] = []): Promise<readonly PostgresRow[]> {
    return await this.query(readOnPrimary(this.table('runs'), select), values)
  }

  /** Runs these statements unless a table has this name. Any number of processes may do this at the same time. Throws the errors of `query`. */
  async setUp(last: string, statements: string): Promise<void> {
    await this.withNamedErrors(() => this.#opened.setUp(last, statements))
  }

  /**
   * Converts the errors of the client of the database. Errors that already have a name are passed on.
   * @throws {DurableSetUpError} The database or its tables are missing or wrong.
   * @throws {DurableStoreError} The database has failed.
   */
  async withNamedErrors<Result>(act: () => Promise<Result>): Promise<Result> {
    try {
      return await act()
    } catch (cause) {
      if (cause instanceof DurableError || cause instanceof ConfigError) throw cause
      const code = postgresCode(cause instanceof CheckpointStoreError ? cause.cause : cause)
      const problem = this.pool.ending ? ENDED : SET_UP_FAULTS[code]
      if (problem === undefined) throw new DurableStoreError(code, { cause })
      throw new DurableSetUpError(`schema "${this.schema}": ${problem}`, { cause })
    }
  }
}

/**
 * Makes the tables of durable runs and the table of checkpoints, if they are missing. Any number of processes may call it at once.
 * @throws {ConfigError} `pool` is not a pool, `schema` is not a valid name, or there is another option.
 * @throws {DurableSetUpError} The database does not exist, its user may not make tables, or there are tables of another version.
 * @throws {DurableStoreError} The server cannot be reached, or has failed.
 */
export async function setUpDurable(options: { readonly pool: PostgresPool; readonly schema?: string }): Promise<void> {
  checkOptions('setUpDurable', options, { pool: 'client database', schema: '' })
  if (options === undefined) throw new ConfigError('options', 'must be an object')
  const { pool, schema } = options
  const database = new Database(pool, schema)
  await database.withNamedErrors(() => setUpPostgres({ pool, schema: database.schema }))
  await database.setUp('events', durableSchema(database.schema))
  for (const [name, columns] of Object.entries(COLUMNS))
    await database.query(`SELECT ${columns} FROM "${database.schema}".${name} LIMIT 0`)
}

const COLUMNS = {
  runs: 'id, agent, conversation, data, status, error, attempts, stopped_at_attempt, cancel, rerun, sent, read, made_at, ended_at',
  answers: 'id, interrupt, answer',
  inbox: 'id, seq, send, body',
  events: 'id, seq, attempt, fleeting, batch',
}

/**
 * Returns the statements of {@link setUpDurable} as text, for your own migration tool. The statements for the table of checkpoints are
 * `postgresSchema` of `@meanwhile/stores/postgres`.
 * @throws {ConfigError} `schema` is not a valid name.
 */
export function durableSchema(schema?: string): string {
  const name = quotedSchema(schema)
  return `CREATE SCHEMA IF NOT EXISTS ${name};
CREATE TABLE IF NOT EXISTS ${name}.runs (
  id text COLLATE "C" PRIMARY KEY,
  agent text NOT NULL,
  conversation text, -- JSON, as PostgreSQL stores no NUL
  data text, -- JSON, for the context of the run
  status text NOT NULL DEFAULT 'running',
  error text, -- JSON: name and message
  attempts integer NOT NULL DEFAULT 0, -- how often a worker has taken it; only the latest may write
  stopped_at_attempt integer NOT NULL DEFAULT 0, -- the attempt that came to a stop last
  cancel text, -- how it is to be cancelled
  rerun text, -- JSON: effects whose calls a retry makes again
  sent integer NOT NULL DEFAULT 0, -- messages in its inbox
  read integer NOT NULL DEFAULT 0, -- of these, how many the run has taken
  made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended_at timestamptz
);
CREATE INDEX IF NOT EXISTS runs_ended_at ON ${name}.runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS runs_deleted ON ${name}.runs (id) WHERE status = 'deleted';
CREATE TABLE IF NOT EXISTS ${name}.answers (
  id text COLLATE "C" NOT NULL REFERENCES ${name}.runs ON DELETE CASCADE,
  interrupt text COLLATE "C" NOT NULL, -- the id of the question; one that is too long for an index ends in its SHA-256
  answer text NOT NULL, -- JSON
  PRIMARY KEY (id, interrupt)
);
CREATE TABLE IF NOT EXISTS ${name}.inbox (
  id text COLLATE "C" NOT NULL REFERENCES ${name}.runs ON DELETE CASCADE,
  seq integer NOT NULL,
  send uuid NOT NULL, -- another one for each send
  body text NOT NULL, -- JSON: a user message
  PRIMARY KEY (id, seq),
  UNIQUE (id, send)
);
CREATE TABLE IF NOT EXISTS ${name}.events (
  id text COLLATE "C" NOT NULL REFERENCES ${name}.runs ON DELETE CASCADE,
  seq integer NOT NULL,
  attempt integer NOT NULL, -- of the run, when it told them
  fleeting boolean NOT NULL, -- only deltas: deleted when their step has ended
  batch text NOT NULL, -- JSON: a list of events; an empty one stands for all that were dropped
  PRIMARY KEY (id, seq)
);`
}

/** Goes into the list of tables of a statement: its commit then does not wait for the disk. Only for data that may be lost if the server crashes. */
export const UNSYNCED = `(SELECT set_config('synchronous_commit', 'off', true)) AS unsynced`

const MISSING = 'its tables are missing: call setUpDurable first'
const ENDED = 'its pool was ended'
const FOREIGN = 'its tables were made by another version, or by another program'

const SET_UP_FAULTS: Readonly<Record<string, string>> = {
  '3D000': 'the database does not exist',
  '3F000': MISSING,
  '42P01': MISSING,
  '42501': 'the user of the database may not make or use its tables',
  '42703': FOREIGN,
  '42804': FOREIGN,
}
