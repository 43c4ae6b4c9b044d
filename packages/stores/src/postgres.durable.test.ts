import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { CheckpointConflictError, type CheckpointStore, createAgent, interrupt, tool } from '@meanwhile/core'
import {
  type Cluster,
  createDatabase,
  cuttingProxy,
  startCluster,
  transactionPooler,
} from '@meanwhile/postgres-cluster'
import { ownDatabase } from '@meanwhile/postgres-cluster/testing'
import { programAt } from '@meanwhile/tests/programs'
import { sized } from '@meanwhile/tests/size'
import { Pool, type PoolConfig } from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { storeContract } from './contract.ts'
import { type PostgresOptions, postgresSchema, postgresStore, setUpPostgres } from './postgres.ts'

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
async function storeIn(
  pool = poolOf(),
  options: Pick<PostgresOptions, 'retries' | 'prepared'> = {},
): Promise<{ readonly store: CheckpointStore; readonly schema: string }> {
  const schema = `schema_${++schemas}`
  await setUpPostgres({ pool, schema })
  return { store: postgresStore({ pool, schema, ...options }), schema }
}

const preparedBy = (pool: Pool): Required<Pick<PostgresOptions, 'prepared'>> => ({
  prepared: (statement) => pool.query(statement),
})

const checkpoint = (revision: number, text = '') => ({ runId: 'run', revision, text })

/** The contract, with and without names of the statements. */
const contract = (isPrepared: boolean) =>
  storeContract(async () => {
    const pool = poolOf()
    const { store, schema } = await storeIn(pool, isPrepared ? preparedBy(pool) : {})
    // PostgreSQL has no NUL in texts, so nothing can damage one in this way.
    const told = (bytes: string) => bytes.replaceAll('\0', '\u0001')
    return {
      store,
      elsewhere: postgresStore({ pool: poolOf(), schema }),
      bytes: {
        read: async (id) =>
          (
            await pool.query(`SELECT checkpoint FROM ${schema}.checkpoints WHERE key = $1`, [id])
          ).rows[0].checkpoint.replaceAll('\u0001', '\0'),
        write: async (id, bytes) => {
          await pool.query(`UPDATE ${schema}.checkpoints SET checkpoint = $2 WHERE key = $1`, [id, told(bytes)])
        },
      },
    }
  })

for (const isPrepared of [false, true]) {
  for (const { name, run } of contract(isPrepared)) {
    test(`postgres${isPrepared ? ', with prepared statements' : ''}: ${name}`, async () => {
      await expect(run()).resolves.toBeUndefined()
    })
  }
}

test('postgres: a prepared statement is parsed once in a connection, and two schemas have different names for theirs (L17)', async () => {
  const pool = poolOf(url, { max: 1 })
  for (const { store } of [await storeIn(pool, preparedBy(pool)), await storeIn(pool, preparedBy(pool))]) {
    for (const revision of [1, 2, 3]) await store.save('run', checkpoint(revision), revision - 1)
    expect(await store.load('run')).toEqual(checkpoint(3))
  }
  const { rows } = await pool.query(
    `SELECT statement, generic_plans + custom_plans AS calls FROM pg_prepared_statements WHERE name LIKE 'meanwhile\\_%'`,
  )
  const calls = (verb: string) =>
    rows.filter(({ statement }) => statement.startsWith(verb)).map((row) => Number(row.calls))
  expect([calls('INSERT'), calls('UPDATE'), calls('WITH')]).toEqual([
    [1, 1],
    [2, 2],
    [1, 1],
  ])
})

test('postgres: behind a pooler that loses the names of statements, each save is made once, and soon no statement has a name (L17)', async () => {
  const pooler = await transactionPooler(url)
  try {
    const pool = poolOf(pooler.url, { max: 20 })
    let named = 0
    const prepared: PostgresOptions['prepared'] = (statement) => {
      named++
      return pool.query(statement)
    }
    const { store } = await storeIn(pool, { prepared })
    const saved = async (id: string) => {
      for (const revision of [1, 2, 3, 4, 5]) await store.save(id, checkpoint(revision), revision - 1)
      return await store.load(id)
    }
    const ids = Array.from({ length: 20 }, (_, n) => `run ${n}`)
    expect(await Promise.all(ids.map(saved))).toEqual(ids.map(() => checkpoint(5)))
    const before = named
    expect(before).toBeGreaterThan(0)
    expect(await saved('later')).toEqual(checkpoint(5))
    expect(named).toBe(before)
  } finally {
    await Promise.all([...pools].map((pool) => pool.end()))
    pools.clear()
    await pooler.close()
  }
})

test('postgres: a run that asks in one process is answered in another (L14)', async () => {
  const book = tool({
    name: 'book',
    description: 'Books',
    input: z.object({}),
    execute: (_, { answers }) => {
      if (answers.length === 0) throw interrupt('Book?')
      return 'Booked'
    },
  })
  const responses = [respond(call('book', {})), respond(say('Done'))]
  const { store: here, schema } = await storeIn()
  const there = postgresStore({ pool: poolOf(), schema })
  const model = scriptedModel(responses)
  const agentOver = (checkpoints: CheckpointStore) => createAgent({ model, tools: [book], checkpoints })
  const asked = await agentOver(here).run('Go')
  if (asked.status !== 'interrupted') throw new Error('it must ask')
  const [question] = asked.interrupts
  const result = await agentOver(there).resume(asked.checkpoint.runId, { [question?.id ?? '']: 'yes' }).result
  expect([result.status, result.text]).toEqual(['completed', 'Done'])
})

test('postgres: two schemas on one connection are separate, and no statement has a name (DU12)', async () => {
  const pool = poolOf(url, { max: 1 })
  const { store: one } = await storeIn(pool)
  const { store: two } = await storeIn(pool)
  for (const [revision, store] of [one, two].entries()) {
    await store.save('run', checkpoint(1, `store ${revision}`), 0)
    await store.save('run', checkpoint(2, `store ${revision}`), 1)
  }
  expect([await one.load('run'), await two.load('run')]).toEqual([checkpoint(2, 'store 0'), checkpoint(2, 'store 1')])
  expect(await one.prune({ olderThan: Date.now() + 60_000 })).toBe(1)
  expect(await two.load('run')).toEqual(checkpoint(2, 'store 1'))
  expect((await pool.query('SELECT name FROM pg_prepared_statements')).rows).toEqual([])
})

test('postgres: 8 processes may set up a schema at the same time, and again (DU11)', async () => {
  const program = programAt(new URL('../test/set-up-process.ts', import.meta.url))
  const children = Array.from({ length: 8 }, () => fork(program, [url], { execArgv: ['--no-warnings'] }))
  const told = async (child: ChildProcess) => (await once(child, 'message'))[0]
  try {
    expect(await Promise.all(children.map(told))).toEqual(children.map(() => 'ready'))
    const pool = poolOf()
    for (let round = 0; round < 10; round++) {
      const schema = `of_processes_${round >> 1}`
      const reports = children.map(told)
      for (const child of children) child.send(schema)
      expect(await Promise.all(reports)).toEqual(children.map(() => 'done'))
      const store = postgresStore({ pool, schema })
      // A second set-up keeps the existing data.
      await store.save('run', checkpoint(round + 1), round % 2 ? round : 0)
      expect(await store.load('run')).toEqual(checkpoint(round + 1))
    }
  } finally {
    for (const child of children) child.kill('SIGKILL')
  }
})

test('postgres: what a migration has made is used unchanged, also by a user without the right to create anything (DU11)', async () => {
  const admin = poolOf()
  await admin.query(postgresSchema('migrated'))
  await admin.query(`CREATE ROLE app LOGIN; GRANT USAGE ON SCHEMA migrated TO app;
    GRANT SELECT, INSERT, UPDATE, DELETE ON migrated.checkpoints TO app`)
  const pool = poolOf(Object.assign(new URL(url), { username: 'app' }).href)
  await setUpPostgres({ pool, schema: 'migrated' })
  await postgresStore({ pool, schema: 'migrated' }).save('run', checkpoint(1), 0)
  await expect(setUpPostgres({ pool, schema: 'another' })).rejects.toMatchObject({
    name: 'CheckpointStoreError',
    operation: 'open',
    message: expect.stringMatching(
      /^checkpoint: permission denied for database .*: the database user lacks the permission$/,
    ),
  })
})

test('postgres: no database, no table and an old table have different errors, and an old table stays unchanged (DU11)', async () => {
  const open = { name: 'CheckpointStoreError', operation: 'open' }
  const nowhere = poolOf(Object.assign(new URL(url), { pathname: '/nowhere' }).href)
  const noDatabase = { ...open, message: 'checkpoint: database "nowhere" does not exist' }
  await expect(setUpPostgres({ pool: nowhere })).rejects.toMatchObject(noDatabase)
  await expect(postgresStore({ pool: nowhere }).load('run')).rejects.toMatchObject(noDatabase)

  const pool = poolOf()
  const bare = postgresStore({ pool, schema: 'nowhere' })
  const message = 'checkpoint: relation "nowhere.checkpoints" does not exist: call setUpPostgres first'
  const noTable = { ...open, message }
  await expect(bare.load('run')).rejects.toMatchObject(noTable)
  await expect(bare.save('run', checkpoint(1), 0)).rejects.toMatchObject(noTable)
  await expect(bare.delete('run')).rejects.toMatchObject(noTable)
  await expect(bare.prune({ olderThan: 0 })).rejects.toMatchObject(noTable)

  await pool.query(`CREATE SCHEMA old; CREATE TABLE old.checkpoints (key text PRIMARY KEY, checkpoint text);
    INSERT INTO old.checkpoints VALUES ('run', '{}')`)
  const made = 'the tables of schema "old" were made by another version or another program'
  const old = { ...open, message: expect.stringMatching(`^checkpoint: column .* does not exist: ${made}$`) }
  await expect(setUpPostgres({ pool, schema: 'old' })).rejects.toMatchObject(old)
  await expect(postgresStore({ pool, schema: 'old' }).save('run', checkpoint(1), 0)).rejects.toMatchObject(old)
  expect((await pool.query('SELECT * FROM old.checkpoints')).rows).toEqual([{ key: 'run', checkpoint: '{}' }])

  await pool.query(`CREATE SCHEMA other; CREATE TABLE other.checkpoints (key text PRIMARY KEY, revision bigint,
    save uuid, saved_at timestamptz, checkpoint jsonb)`)
  await expect(postgresStore({ pool, schema: 'other' }).save('run', checkpoint(1), 0)).rejects.toMatchObject({
    ...open,
    message: expect.stringContaining('is of type jsonb but expression is of type text: the tables of schema'),
  })
})

test('postgres: ids and texts that PostgreSQL cannot store directly are returned unchanged (DU16)', async () => {
  const pool = poolOf()
  const { store, schema } = await storeIn(pool)
  // No two letters are the same, so that no compression makes it short.
  const long = String.fromCharCode(...Array.from({ length: 10_000 }, (_, index) => 0x4e00 + index))
  const ids = ['\0', '\ud800', '\udfff\ud800', long, `${long}\0`, `${long}\ud800`]
  for (const id of ids) await store.save(id, checkpoint(1, id), 0)
  for (const id of ids) expect(await store.load(id)).toEqual(checkpoint(1, id))
  const { rows } = await pool.query(`SELECT max(length(key)) AS longest FROM ${schema}.checkpoints`)
  expect(rows).toEqual([{ longest: 255 + 1 + 64 }])
})

test.each([0, 1])(
  'postgres: a save over %i whose connection is cut, before or after it is carried out, is carried out once (DU5)',
  async (over) => {
    const proxy = await cuttingProxy(url)
    try {
      const pool = poolOf(proxy.url)
      const { store } = await storeIn(pool)
      for (const when of ['before', 'after'] as const) {
        const id = `run ${when}`
        if (over === 1) await store.save(id, checkpoint(1), 0)
        const cut = proxy.cut(when, over === 0 ? 'INSERT INTO' : 'UPDATE')
        await store.save(id, checkpoint(over + 1), over)
        await cut
        expect(await store.load(id)).toEqual(checkpoint(over + 1))
        await store.save(id, checkpoint(over + 2), over + 1)
        await expect(store.save(id, checkpoint(over + 2), over + 1)).rejects.toThrow(CheckpointConflictError)
      }
    } finally {
      await proxy.close()
    }
  },
)

test.each([0, 1])(
  'postgres: a repeated save over %i does not mistake the save of another process for its own, even if the text is the same (DU5)',
  async (over) => {
    const proxy = await cuttingProxy(url)
    try {
      const { store, schema } = await storeIn(poolOf(proxy.url))
      const other = postgresStore({ pool: poolOf(), schema })
      if (over === 1) await store.save('run', checkpoint(1), 0)
      const cut = proxy.cut('before', over === 0 ? 'INSERT INTO' : 'UPDATE', () =>
        other.save('run', checkpoint(over + 1), over),
      )
      const saving = store.save('run', checkpoint(over + 1), over)
      await expect(saving).rejects.toMatchObject({ name: 'CheckpointConflictError', expected: over, found: over + 1 })
      await cut
    } finally {
      await proxy.close()
    }
  },
)

test('postgres: a save that is repeated late does not undo a later save (DU5)', async () => {
  const proxy = await cuttingProxy(url)
  try {
    const { store, schema } = await storeIn(poolOf(proxy.url))
    const other = postgresStore({ pool: poolOf(), schema })
    await store.save('run', checkpoint(1), 0)
    const cut = proxy.cut('after', 'UPDATE', () => other.save('run', checkpoint(3), 2))
    const saving = store.save('run', checkpoint(2), 1)
    await expect(saving).rejects.toMatchObject({ name: 'CheckpointConflictError', expected: 1, found: 3 })
    await cut
    expect(await store.load('run')).toEqual(checkpoint(3))
  } finally {
    await proxy.close()
  }
})

test.each([
  { set: 'off', used: 'on' },
  { set: 'on', used: 'on' },
  { set: 'local', used: 'local' },
  { set: 'remote_apply', used: 'remote_apply' },
])(
  'postgres: where synchronous_commit is $set a save uses $used, and changes it only for itself (DU6)',
  async ({ set, used }) => {
    const pool = poolOf(url, { max: 1 })
    const { store, schema } = await storeIn(pool)
    await pool.query(`SET synchronous_commit = ${set}; CREATE TABLE ${schema}.used (setting text);
    CREATE FUNCTION ${schema}.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO ${schema}.used VALUES (current_setting('synchronous_commit')); RETURN NEW;
    END $$;
    CREATE TRIGGER note BEFORE INSERT OR UPDATE ON ${schema}.checkpoints FOR EACH ROW EXECUTE FUNCTION ${schema}.note()`)
    await store.save('run', checkpoint(1), 0)
    await store.save('run', checkpoint(2), 1)
    expect((await pool.query(`SELECT setting FROM ${schema}.used`)).rows).toEqual([
      { setting: used },
      { setting: used },
    ])
    expect((await pool.query('SHOW synchronous_commit')).rows).toEqual([{ synchronous_commit: set }])
  },
)

let ownCluster: Promise<Cluster> | undefined

afterAll(async () => {
  await (await ownCluster)?.close()
})

/** A server that may crash. */
function crashing(): Promise<Cluster> {
  return (ownCluster ??= startCluster())
}

test('postgres: a save that has resolved survives a crash of the server, where other commits do not (DU6)', async () => {
  const cluster = await crashing()
  const admin = poolOf(cluster.url, { max: 1 })
  await admin.query("ALTER SYSTEM SET wal_writer_delay = '10s'")
  await admin.query('SELECT pg_reload_conf()')
  const database = await createDatabase(cluster.url)
  await admin.query(`ALTER DATABASE ${new URL(database).pathname.slice(1)} SET synchronous_commit = off`)
  const pool = poolOf(database, { max: 1 })
  const { store, schema } = await storeIn(pool)
  await pool.query('CREATE TABLE others (revision bigint)')
  await pool.query('CHECKPOINT')
  for (let revision = 1; revision <= 3; revision++) {
    await store.save('run', checkpoint(revision), revision - 1)
    await pool.query('INSERT INTO others VALUES ($1)', [revision])
  }
  await cluster.restart()
  const again = poolOf(database)
  expect(await postgresStore({ pool: again, schema }).load('run')).toEqual(checkpoint(3))
  // The last commit that did not wait for the disk is lost, so the server really crashed.
  expect((await again.query('SELECT max(revision) AS last FROM others')).rows).toEqual([{ last: '2' }])
  await admin.end()
  pools.delete(admin)
})

const CRASHES = sized({ small: 3, middle: 3, whole: 100 })

test(`postgres: ${CRASHES} crashes of the server during saves lose no save, and cause no conflict (DU5)`, async () => {
  const cluster = await crashing()
  const database = await createDatabase(cluster.url)
  const { store, schema } = await storeIn(poolOf(database), { retries: 11 })
  let saved = 0
  let isOver = false
  async function saveOn(): Promise<void> {
    while (!isOver) {
      await store.save('run', checkpoint(saved + 1, 'x'.repeat(20_000)), saved)
      saved++
    }
  }
  const saving = saveOn()
  for (let crash = 0; crash < CRASHES; crash++) {
    const before = saved
    // On a busy machine the server may need half a minute to start.
    await expect.poll(() => saved, { timeout: 150_000 }).toBeGreaterThan(before + 2)
    await cluster.restart()
  }
  // The server is away for longer than it takes to start.
  await cluster.crash()
  await new Promise((resolve) => setTimeout(resolve, 500))
  await cluster.start()
  isOver = true
  await saving
  expect(saved).toBeGreaterThan(3 * CRASHES)
  const elsewhere = postgresStore({ pool: poolOf(database), schema })
  expect(await elsewhere.load('run')).toEqual(checkpoint(saved, 'x'.repeat(20_000)))
})
