/** The entry point for threads in a SQLite database. It is separate because it needs Node. */
export { type SqliteThreads, sqliteThreads } from './stores/sqlite.ts'
