import { CheckpointStoreError } from '@meanwhile/core'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type PostgresClient, postgresSchema, postgresStore, setUpPostgres } from './postgres.ts'

// Tests without a server; the others are in postgres.durable.test.ts.

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** A client that fails with these errors one after the other, then returns no rows; and the times of its queries. */
function failing(...errors: readonly Error[]) {
  const times: number[] = []
  const pool: PostgresClient = {
    async query() {
      times.push(Date.now())
      const error = errors[times.length - 1]
      if (error) throw error
      return { rows: [] }
    },
  }
  return { pool, times, start: Date.now() }
}

const coded = (code: string, message = code) => Object.assign(new Error(message), { code })

test.each([
  { name: 'no pool', options: { pool: undefined }, option: 'pool' },
  { name: 'a pool without query', options: { pool: {} }, option: 'pool' },
  ...['', '1a', 'a.b', 'a"b', 'a b', 'x'.repeat(64), 7].map((schema) => ({
    name: `schema ${JSON.stringify(schema).slice(0, 12)}`,
    options: { pool: failing().pool, schema },
    option: 'schema',
  })),
  ...[-1, 0.5, Number.NaN].map((retries) => ({
    name: `${retries} retries`,
    options: { pool: failing().pool, retries },
    option: 'retries',
  })),
  { name: 'prepared: true', options: { pool: failing().pool, prepared: true }, option: 'prepared' },
])('postgres: with $name no store is made (A2)', async ({ options, option }) => {
  const error = expect.objectContaining({ name: 'ConfigError', option })
  expect(() => postgresStore(options as never)).toThrow(error)
  if (option !== 'retries' && option !== 'prepared')
    await expect(setUpPostgres(options as never)).rejects.toThrow(error)
  if ('schema' in options) expect(() => postgresSchema(options.schema as never)).toThrow(error)
})

test.each([
  coded('ECONNRESET'),
  coded('ECONNREFUSED'),
  coded('EPIPE'),
  coded('57P01'),
  coded('57P03'),
  coded('08006'),
  new Error('Connection terminated unexpectedly'),
  new Error('Client has encountered a connection error and is not queryable'),
])('postgres: a statement is sent again when its connection was lost: $message (DU5)', async (error) => {
  const { pool, times, start } = failing(error, error, error)
  const loading = postgresStore({ pool }).load('run')
  await vi.runAllTimersAsync()
  expect(await loading).toBeUndefined()
  expect(times.map((time) => time - start)).toEqual([0, 50, 150, 350])
})

test('postgres: after the last retry the error is thrown, and any other error at once (DU5)', async () => {
  const lost = coded('ECONNRESET')
  const { pool, times, start } = failing(lost, lost, lost)
  const loading = postgresStore({ pool, retries: 1 }).load('run')
  await Promise.all([expect(loading).rejects.toBe(lost), vi.runAllTimersAsync()])
  expect(times.map((time) => time - start)).toEqual([0, 50])

  const full = coded('53100', 'could not extend file: No space left on device')
  const other = failing(full)
  await expect(postgresStore({ pool: other.pool }).load('run')).rejects.toBe(full)
  expect(other.times).toHaveLength(1)
})

test('postgres: a revision that is not greater than the one it replaces is refused before anything is sent (L14)', async () => {
  const { pool, times } = failing()
  const store = postgresStore({ pool })
  await expect(store.save('run', { runId: 'run', revision: 1 }, 1)).rejects.toThrow(RangeError)
  expect(times).toEqual([])
})

test('postgres: an error of the set-up explains what to do, with the error of PostgreSQL as its cause (DU11)', async () => {
  const missing = coded('42P01', 'relation "agents.checkpoints" does not exist')
  const loading = postgresStore({ pool: failing(missing).pool, schema: 'agents' }).load('run')
  await expect(loading).rejects.toThrow(
    new CheckpointStoreError('open', '', 'relation "agents.checkpoints" does not exist: call setUpPostgres first'),
  )
  await expect(loading).rejects.toMatchObject({ operation: 'open', cause: missing })
})
