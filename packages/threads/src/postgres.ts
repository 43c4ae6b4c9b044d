/** The entry point for threads in a PostgreSQL database. It is separate because it needs Node. */
export {
  type PostgresThreadsOptions,
  type PostgresThreadsPool,
  postgresThreads,
  postgresThreadsSchema,
  setUpPostgresThreads,
} from './stores/postgres.ts'
