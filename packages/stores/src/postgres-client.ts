/** What the packages use of a client of PostgreSQL. */

/** A row of a query: its values, by name of the column. */
export interface PostgresRow {
  readonly [column: string]: unknown
}

/** The required part of a PostgreSQL client: a `Pool`, `Client` or `PoolClient` of `pg`. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly PostgresRow[] }>
}

/** Returns the SQLSTATE of PostgreSQL's error, or the code of Node's error; empty if there is none. */
export function postgresCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
