/** The tables of the store of threads in PostgreSQL, and the function that it calls. */

import { openPostgres, type PostgresOptions, postgresSchema } from '@meanwhile/stores/postgres'
import { WRITE_FUNCTION, writeFunction } from './write-function.ts'

/**
 * Creates the schema, its tables and its function, and the table of checkpoints, unless they exist. Any number of processes may call it at once.
 * @throws {ConfigError} The pool has no `query`, or the schema is not a valid name.
 * @throws {CheckpointStoreError} The database does not exist, its user may not create tables, or the tables are of another version.
 */
export async function setUpPostgresThreads(options: PostgresOptions): Promise<void> {
  const { name, query, setUp } = openPostgres(options, 'setUpPostgresThreads')
  await setUp(WRITE_FUNCTION, postgresThreadsSchema(options.schema))
  await query(`SELECT threads.number, state, change, lease, checkpoints.save FROM ${name}.threads
    CROSS JOIN ${name}.turns CROSS JOIN ${name}.checkpoints
    CROSS JOIN (SELECT kept FROM ${name}.thread_events) AS events LIMIT 0`)
}

/**
 * Returns the statements of {@link setUpPostgresThreads} as text, for your own migration tool.
 * @throws {ConfigError} The schema is not a valid name.
 */
export function postgresThreadsSchema(schema = 'meanwhile'): string {
  const checkpoints = postgresSchema(schema)
  const name = `"${schema}"`
  return `${checkpoints}
CREATE TABLE IF NOT EXISTS ${name}.threads (
  key text COLLATE "C" PRIMARY KEY, number bigint NOT NULL GENERATED ALWAYS AS IDENTITY, state smallint NOT NULL,
  change uuid NOT NULL, record text NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS threads_in_order ON ${name}.threads (number);
CREATE INDEX IF NOT EXISTS threads_listed ON ${name}.threads (number) WHERE state < 2;
CREATE TABLE IF NOT EXISTS ${name}.turns (
  key text COLLATE "C" PRIMARY KEY, thread text COLLATE "C" NOT NULL, number bigint NOT NULL, status text NOT NULL,
  message text COLLATE "C" NOT NULL, start bigint, lease bigint NOT NULL, superseded boolean NOT NULL DEFAULT false, record text NOT NULL
);
CREATE INDEX IF NOT EXISTS turns_in_order ON ${name}.turns (thread, number);
CREATE INDEX IF NOT EXISTS turns_open ON ${name}.turns (status, lease) WHERE status IN ('queued', 'running', 'waiting');
CREATE INDEX IF NOT EXISTS turns_open_of_thread ON ${name}.turns (thread)
  WHERE status IN ('queued', 'running', 'waiting') AND NOT superseded;
CREATE INDEX IF NOT EXISTS turns_begun ON ${name}.turns (thread, start)
  WHERE status <> 'joined' AND NOT superseded AND start IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS turns_one_at_a_time ON ${name}.turns (thread)
  WHERE status IN ('running', 'waiting') AND NOT superseded;
CREATE UNIQUE INDEX IF NOT EXISTS turns_one_per_message ON ${name}.turns (thread, message) WHERE NOT superseded;
CREATE TABLE IF NOT EXISTS ${name}.thread_events (
  thread text COLLATE "C" NOT NULL, seq bigint NOT NULL, turn text NOT NULL, kept boolean NOT NULL,
  superseded boolean NOT NULL DEFAULT false, event text NOT NULL, PRIMARY KEY (thread, seq)
);
CREATE INDEX IF NOT EXISTS thread_events_open ON ${name}.thread_events (thread, seq) WHERE NOT kept;
${writeFunction(name)}`
}
