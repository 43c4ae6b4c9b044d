/** The entry point for threads in a PostgreSQL database. It is separate because it needs Node. */
export {
  type PostgresThreadsOptions,
  type PostgresThreadsPool,
  postgresThreads,
} from './stores/postgres.ts'
export { postgresThreadsSchema, setUpPostgresThreads } from './stores/postgres-schema.ts'
