import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { CheckpointCorruptError, createAgent, tool } from '@meanwhile/core'
import { createDatabase, cuttingProxy, startCluster } from '@meanwhile/postgres-cluster'
import { ownDatabase } from '@meanwhile/postgres-cluster/testing'
import { postgresStore } from '@meanwhile/stores/postgres'
import { sized } from '@meanwhile/tests/size'
import { Pool, type PoolConfig } from 'pg'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { chat, until } from '../../test/chat.ts'
import { processOf } from '../../test/processes.ts'
import { createThreads, ThreadError } from '../index.ts'
import {
  type PostgresThreadsOptions,
  postgresThreads,
  postgresThreadsSchema,
  setUpPostgresThreads,
} from '../postgres.ts'
import { threadStoreContract } from '../testing.ts'
import type { StoredThread, ThreadStore } from '../thread-store.ts'

let url: string
const pools = new Set<Pool>()
let schemas = 0

beforeAll(async () => {
  url = await ownDatabase()
})

afterEach(async () => {
  await Promise.all([...pools].map((pool) => pool.end()))
  pools.clear()
})

function poolOf(connectionString = url, options: PoolConfig = {}): Pool {
  const pool = new Pool({ connectionString, ...options })
  pool.on('error', () => {})
  pools.add(pool)
  return pool
}

/** An empty store in a new schema. */
async function storeIn(pool = poolOf(), options: Pick<PostgresThreadsOptions, 'retries' | 'prepared'> = {}) {
  const schema = `threads_${++schemas}`
  await setUpPostgresThreads({ pool, schema })
  return { store: postgresThreads({ pool, schema, ...options }), schema, pool }
}

for (const isPrepared of [false, true]) {
  const contract = threadStoreContract(async () => {
    const pool = poolOf()
    const { store, schema } = await storeIn(pool, isPrepared ? { prepared: (statement) => pool.query(statement) } : {})
    return { store, elsewhere: postgresThreads({ pool: poolOf(), schema }) }
  })

  for (const { name, run } of contract) {
    test(`postgres${isPrepared ? ', with prepared statements' : ''}: ${name} (TH6, TH9)`, async () => {
      await expect(run()).resolves.toBeUndefined()
    })
  }
}

/** The whole statement, so that it does not match `READ COMMITTED`. */
const COMMIT = 'COMMIT\0'

const EMPTY = { id: 't', tag: '0123abcd', createdAt: 1, updatedAt: 2, turns: 0, historyAt: 0, isPaused: false }

/** Increases the `seq` of the thread by one, so that a change that is made twice is seen. */
const next = (stored: StoredThread | undefined) => {
  const seq = (stored?.thread.seq ?? 0) + 1
  return { thread: { ...EMPTY, isDeleted: false, seq }, result: seq }
}

const count = async (store: ThreadStore) => (await store.load('t'))?.thread.seq ?? 0

test('postgres: a conversation that begins in one process continues in another (TH6)', async () => {
  const { store, schema } = await storeIn()
  const threadsOn = (on: ThreadStore) => {
    const model = scriptedModel([respond(say('Hello')), respond(say('Still here'))])
    return createThreads({ agent: createAgent({ name: 'chat', model }), store: on })
  }
  const [here, there] = [threadsOn(store), threadsOn(postgresThreads({ pool: poolOf(), schema }))]
  try {
    expect(await (await here.send('t', 'Hi')).result).toMatchObject({ status: 'completed', text: 'Hello' })
    expect(await (await there.send('t', 'And now?')).result).toMatchObject({ status: 'completed' })
    const { messages } = await here.read('t')
    expect(messages.map(({ message }) => message.role)).toEqual(['user', 'assistant', 'user', 'assistant'])
  } finally {
    await Promise.all([here.close(), there.close()])
  }
})

test('postgres: a store that does not know threads refuses the checkpoint of a turn, and so does its own store if the events are missing (L14, L18)', async () => {
  const { store, schema, pool } = await storeIn()
  const { agent, did } = chat()
  const threads = createThreads({ agent, store, onError: () => {} })
  await (await threads.send('t', 'Hello')).result
  const turn = await threads.send('t', 'mail')
  const { interrupts = [] } = await turn.result
  expect(await store.checkpoints.load(turn.id)).toMatchObject({ messages: [{ content: 'Hello' }, {}, {}, {}] })
  // As a version of this package before threads had bases.
  await expect(postgresStore({ pool, schema }).load(turn.id)).rejects.toThrow(CheckpointCorruptError)
  await pool.query(`UPDATE ${schema}.thread_events SET superseded = true WHERE seq = 1`)
  await expect(store.checkpoints.load(turn.id)).rejects.toThrow(CheckpointCorruptError)
  await threads.answer('t', { [interrupts[0]?.id ?? '']: { allow: true } })
  expect(await turn.result).toMatchObject({ status: 'failed', error: { name: 'CheckpointCorruptError' } })
  await pool.query(`UPDATE ${schema}.thread_events SET superseded = false WHERE seq = 1`)
  await threads.retry('t')
  expect(await turn.result).toMatchObject({ status: 'completed' })
  expect(did).toEqual(['mail ada [{"allow":true}]'])
  await threads.close()
})

test.each(['before', 'after'] as const)(
  'postgres: a change whose connection is cut %s the commit is made once (DU5, TH6)',
  async (when) => {
    const proxy = await cuttingProxy(url)
    try {
      const { store } = await storeIn(poolOf(proxy.url))
      for (let expected = 1; expected <= 2; expected++) {
        const cut = proxy.cut(when, COMMIT)
        expect(await store.change('t', next)).toBe(expected)
        await cut
        expect(await count(store)).toBe(expected)
      }
      // This change does not write the record of the thread. It must be made once all the same.
      const cut = proxy.cut(when, COMMIT)
      const message = { role: 'user', content: 'Hi' } as const
      const event = { type: 'message', message, runId: 'r', messageId: 'm' } as const
      await store.change('t', () => ({ events: [{ seq: 9, turn: 'r', event }], result: undefined }))
      await cut
      expect(await store.events('t')).toEqual([{ seq: 9, turn: 'r', event }])
    } finally {
      await proxy.close()
    }
  },
)

test('postgres: a change is repeated if its connection is cut before the commit, and an error of decide is thrown at once (DU5)', async () => {
  const proxy = await cuttingProxy(url)
  try {
    const { store } = await storeIn(poolOf(proxy.url, { max: 1 }))
    for (const [index, statement] of ['BEGIN', 'pg_try_advisory_xact_lock', 'UNION ALL', 'INSERT INTO'].entries()) {
      const cut = proxy.cut('before', statement)
      expect(await store.change('t', next)).toBe(index + 1)
      await cut
    }
    let calls = 0
    const refused = store.change('t', () => {
      calls++
      throw new TypeError('no')
    })
    await expect(refused).rejects.toThrow(new TypeError('no'))
    expect(calls).toBe(1)
    // The connection has no open transaction.
    expect(await store.change('t', next)).toBe(5)
  } finally {
    await proxy.close()
  }
})

test('postgres: if another process changes the thread after a commit with unknown outcome, an error reports that, and no change is made twice (DU5)', async () => {
  const proxy = await cuttingProxy(url)
  try {
    const { store, schema } = await storeIn(poolOf(proxy.url))
    const other = postgresThreads({ pool: poolOf(), schema })
    const cut = proxy.cut('after', COMMIT, async () => {
      expect(await other.change('t', next)).toBe(2)
    })
    const changing = store.change('t', next)
    await expect(changing).rejects.toThrow(ThreadError)
    await expect(changing).rejects.toThrow('Whether the change was made is not known')
    await cut
    expect(await count(store)).toBe(2)
  } finally {
    await proxy.close()
  }
})

test.each([60_000, -60_000])(
  'postgres: where the clock of a process is wrong by %i ms, it takes over no live turn, and a dead one in time (W30)',
  async (wrong) => {
    const { store, schema } = await storeIn()
    let finish = () => {}
    const finished = new Promise<void>((resolve) => {
      finish = resolve
    })
    const work = tool({
      name: 'work',
      description: 'Works.',
      input: z.object({}),
      async execute() {
        await finished
        return 'done'
      },
    })
    const first = processOf(store)
    const threadsOn = (on: ThreadStore) => {
      const model = scriptedModel([respond(call('work')), respond(say('Done.'))])
      return createThreads({ agent: createAgent({ name: 'chat', model, tools: [work] }), store: on, lease: 2_000 })
    }
    const here = threadsOn(first.store)
    const there = threadsOn(postgresThreads({ pool: poolOf(), schema }))
    const clock = Date.now
    const now = () => clock() + wrong
    try {
      const turn = await here.send('t', 'Hi')
      await until(turn, 'tool-entered')
      Date.now = now
      expect(await there.recover()).toBe(0)
      first.kill()
      await expect.poll(() => there.recover(), { timeout: 60_000 }).toBe(1)
      finish()
      const { turns } = await there.read('t')
      expect(Math.abs(clock() - Number(turns[0]?.createdAt))).toBeLessThan(30_000)
      expect(await (await there.turn('t'))?.result).toMatchObject({ status: 'completed' })
    } finally {
      Date.now = clock
      finish()
      await there.close()
    }
  },
)

test.each([
  { mayBeLost: false, set: 'off', used: 'on' },
  { mayBeLost: false, set: 'remote_apply', used: 'remote_apply' },
  { mayBeLost: true, set: 'on', used: 'off' },
])(
  'postgres: where synchronous_commit is $set a change that may be lost ($mayBeLost) uses $used, for itself only (DU6)',
  async ({ mayBeLost, set, used }) => {
    const pool = poolOf(url, { max: 1 })
    const { store, schema } = await storeIn(pool)
    await pool.query(`SET synchronous_commit = ${set}; CREATE TABLE ${schema}.used (setting text);
      CREATE FUNCTION ${schema}.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO ${schema}.used VALUES (current_setting('synchronous_commit')); RETURN NEW;
      END $$;
      CREATE TRIGGER note BEFORE INSERT ON ${schema}.threads FOR EACH ROW EXECUTE FUNCTION ${schema}.note()`)
    await store.change('t', next, { mayBeLost })
    expect((await pool.query(`SELECT setting FROM ${schema}.used`)).rows).toEqual([{ setting: used }])
    expect((await pool.query('SHOW synchronous_commit')).rows).toEqual([{ synchronous_commit: set }])
  },
)

const CRASHES = sized({ small: 3, middle: 3, whole: 50 })

test(`postgres: after ${CRASHES} crashes of the server, each change was made once (DU5, TH6)`, async () => {
  const cluster = await startCluster()
  try {
    const database = await createDatabase(cluster.url)
    const { store } = await storeIn(poolOf(database), { retries: 11 })
    let changes = 0
    let isOver = false
    async function changeOn(): Promise<void> {
      while (!isOver) expect(await store.change('t', next)).toBe(++changes)
    }
    const changing = changeOn()
    for (let crash = 0; crash < CRASHES; crash++) {
      const before = changes
      // On a busy machine the server may need half a minute to start.
      await expect.poll(() => changes, { timeout: 150_000 }).toBeGreaterThan(before + 2)
      await cluster.restart()
    }
    isOver = true
    await changing
    expect(await count(store)).toBe(changes)
  } finally {
    await Promise.all([...pools].map((pool) => pool.end()))
    pools.clear()
    await cluster.close()
  }
})

test('postgres: several processes can set up the same schema at once, and a migration with the statements also works (DU11)', async () => {
  const all = Array.from({ length: 8 }, () => poolOf(url, { max: 1 }))
  await Promise.all(all.map((pool) => pool.query('SELECT 1')))
  await Promise.all(all.map((pool) => setUpPostgresThreads({ pool, schema: 'at_once' })))
  const [pool] = all
  if (!pool) throw new Error('eight')
  await pool.query(postgresThreadsSchema('migrated'))
  await setUpPostgresThreads({ pool, schema: 'migrated' })
  for (const schema of ['at_once', 'migrated'])
    expect(await postgresThreads({ pool, schema }).change('t', next)).toBe(1)
})

test('postgres: a missing pool, missing tables and old tables cause different errors (DU11, A2)', async () => {
  const pool = poolOf()
  const noPool = expect.objectContaining({ name: 'ConfigError', option: 'pool' })
  expect(() => postgresThreads({ pool: undefined } as never)).toThrow(noPool)
  expect(() => postgresThreads({ pool: { query: () => undefined } } as never)).toThrow(noPool)
  expect(() => postgresThreads({ pool, schema: 'a"b' })).toThrow(expect.objectContaining({ option: 'schema' }))

  const none = postgresThreads({ pool, schema: 'nowhere' })
  const missing = {
    name: 'CheckpointStoreError',
    operation: 'open',
    message: 'checkpoint: relation "nowhere.threads" does not exist: call setUpPostgresThreads first',
  }
  await expect(none.load('t')).rejects.toMatchObject(missing)
  await expect(none.change('t', next)).rejects.toMatchObject(missing)

  await pool.query('CREATE SCHEMA old; CREATE TABLE old.threads (id text)')
  await expect(setUpPostgresThreads({ pool, schema: 'old' })).rejects.toMatchObject({
    ...missing,
    message: expect.stringContaining('the tables of schema "old" were made by another version or another program'),
  })
})
