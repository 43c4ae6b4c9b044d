/** Threads in a PostgreSQL database: a door of its own, because it needs Node. */
export {
  type PostgresThreadsOptions,
  type PostgresThreadsPool,
  postgresThreads,
  postgresThreadsSchema,
  setUpPostgresThreads,
} from './stores/postgres.ts'
