import type { Client, Pool, PoolClient } from 'pg'
import { expectTypeOf, test } from 'vitest'
import { type PostgresClient, postgresStore } from './postgres.ts'

test('a pool and a client of pg are valid clients, and an object that returns no rows is not', () => {
  expectTypeOf<Pool>().toExtend<PostgresClient>()
  expectTypeOf<Client>().toExtend<PostgresClient>()
  expectTypeOf<PoolClient>().toExtend<PostgresClient>()
  expectTypeOf<{ query(text: string): Promise<number> }>().not.toExtend<PostgresClient>()
  expectTypeOf(postgresStore).toBeCallableWith({ pool: {} as Pool, schema: 'agents', retries: 0 })
})

test('a pool and a client of pg run prepared statements', () => {
  const [pool, client] = [{} as Pool, {} as Client]
  expectTypeOf(postgresStore).toBeCallableWith({ pool, prepared: (statement) => pool.query(statement) })
  expectTypeOf(postgresStore).toBeCallableWith({ pool: client, prepared: (statement) => client.query(statement) })
})
