import { fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { ownDatabase } from '@meanwhile/postgres-cluster/testing'
import { programAt } from '@meanwhile/tests/programs'
import { Client, Pool } from 'pg'
import { beforeEach, expect, test } from 'vitest'
import { ThreadError } from '../index.ts'
import { postgresThreads, setUpPostgresThreads } from '../postgres.ts'
import type { StoredThread } from '../thread-store.ts'

const FREEZING = programAt(new URL('../../test/frozen-process.ts', import.meta.url))

const EMPTY = { tag: '0123abcd', createdAt: 1, updatedAt: 2, turns: 0, historyAt: 0, isPaused: false }

/** Increases the `seq` of a thread by one. */
const next = (id: string) => (stored: StoredThread | undefined) => {
  const seq = (stored?.thread.seq ?? 0) + 1
  return { thread: { ...EMPTY, id, isDeleted: false, seq }, result: seq }
}

let url: string
let pool: Pool

beforeEach(async () => {
  url = await ownDatabase()
  pool = new Pool({ connectionString: url, max: 2 })
  pool.on('error', () => {})
  await setUpPostgresThreads({ pool, schema: 'locks' })
  return () => pool.end()
})

const lockOf = (id: string) => createHash('sha256').update(JSON.stringify(id)).digest().readBigInt64BE().toString()

test('a process that is stopped in the middle of a change holds up no other thread, and its own thread for less than 15 s (W29)', async () => {
  const store = postgresThreads({ pool, schema: 'locks' })
  const child = fork(FREEZING, [url, 'locks'], { execArgv: ['--no-warnings'] })
  try {
    const locks = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
    await expect.poll(async () => (await pool.query(locks)).rows, { timeout: 60_000 }).toHaveLength(1)
    const order: string[] = []
    const waiting = Promise.all(
      Array.from({ length: 12 }, async () => {
        const seq = await store.change('t', next('t'))
        order.push('t')
        return seq
      }),
    )
    expect(await store.change('other', next('other'))).toBe(1)
    expect(await store.load('t')).toBeUndefined()
    order.push('other')
    expect(await waiting).toEqual(Array.from({ length: 12 }, (_, index) => index + 1))
    expect(order).toEqual(['other', ...Array.from({ length: 12 }, () => 't')])
    child.kill('SIGCONT')
    // It has lost its connection, and makes its change again.
    expect(await once(child, 'message')).toEqual([13, undefined])
  } finally {
    child.kill('SIGKILL')
  }
})

test('changes that wait for a thread hold no connection, and each ends with an error that names the thread (W29)', async () => {
  const store = postgresThreads({ pool, schema: 'locks' })
  const holder = new Client({ connectionString: url })
  await holder.connect()
  try {
    await holder.query('BEGIN')
    await holder.query('SELECT pg_advisory_xact_lock($1::bigint)', [lockOf('t')])
    const waiting = Promise.allSettled(Array.from({ length: 12 }, () => store.change('t', next('t'))))
    for (let seq = 1; seq <= 20; seq++) expect(await store.change('other', next('other'))).toBe(seq)
    const ends = await waiting
    const problem = 'thread "t": another change of it has not ended for 10 s, so this one was not made'
    for (const end of ends) expect(end).toEqual({ status: 'rejected', reason: new ThreadError('t', problem.slice(12)) })
    await holder.query('ROLLBACK')
    expect(await store.change('t', next('t'))).toBe(1)
  } finally {
    await holder.end()
  }
})
