/** Threads in a SQLite database: a door of its own, because it needs Node. */
export { type SqliteThreads, sqliteThreads } from './stores/sqlite.ts'
