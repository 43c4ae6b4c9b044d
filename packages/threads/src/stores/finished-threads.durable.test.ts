import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { ownDatabase } from '@meanwhile/postgres-cluster/testing'
import type { PreparedStatement } from '@meanwhile/stores/postgres'
import { Pool } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createThreads } from '../index.ts'
import { postgresThreads, setUpPostgresThreads } from '../postgres.ts'
import { newThread } from '../thread-records.ts'
import type { ThreadStore, TurnRecord } from '../thread-store.ts'

let pool: Pool

beforeEach(async () => {
  pool = new Pool({ connectionString: await ownDatabase(), max: 1 })
})

afterEach(async () => {
  await pool.end()
})

/** Copies the thread `from` to the threads with these numbers: every fifth is paused and has a queue, and every fifth is deleted. */
async function copyThread(from: string, first: number, last: number): Promise<void> {
  await pool.query(
    `WITH numbers AS (SELECT n, format('idle %s', n) AS id, n % 5 AS kind FROM generate_series($2::int, $3::int) AS n),
    threads AS (
      INSERT INTO meanwhile.threads (key, state, change, record)
      SELECT id, CASE kind WHEN 0 THEN 2 WHEN 1 THEN 1 ELSE 0 END, gen_random_uuid(), record
      FROM meanwhile.threads, numbers WHERE key = $1
    ),
    events AS (
      INSERT INTO meanwhile.thread_events (thread, seq, turn, kept, event)
      SELECT id, seq, to_json(id), kept, event FROM meanwhile.thread_events, numbers WHERE thread = $1 AND kind > 0
    ),
    queued AS (
      INSERT INTO meanwhile.turns (key, thread, number, status, message, lease, record)
      SELECT id || ' queued', id, 2, 'queued', 'm2', 9007199254740991, record
      FROM meanwhile.turns, numbers WHERE thread = $1 AND kind = 1
    )
    INSERT INTO meanwhile.turns (key, thread, number, status, message, start, lease, record)
    SELECT id, id, number, status, message, start, lease, record FROM meanwhile.turns, numbers
    WHERE thread = $1 AND kind > 0`,
    [from, first, last],
  )
  await pool.query('ANALYZE meanwhile.threads, meanwhile.turns, meanwhile.thread_events')
}

async function rowsRead(): Promise<number> {
  await pool.query('SELECT pg_stat_force_next_flush()')
  const { rows } = await pool.query(
    `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS n FROM pg_stat_user_tables WHERE schemaname = 'meanwhile'`,
  )
  return rows[0].n
}

/** Calls each method of the store for an open thread, and returns how many rows each reads. */
async function rowsOfMethods(store: ThreadStore, run: number): Promise<Readonly<Record<string, number>>> {
  const id = `own ${run}`
  const { thread } = newThread(id, '01234567', 0)
  const turn: TurnRecord = {
    id,
    number: 1,
    status: 'running',
    messageId: 'm',
    createdAt: 0,
    startSeq: 1,
    historyAt: 0,
    epoch: 1,
    leaseUntil: 1,
  }
  const event = { seq: 1, turn: id, isKept: true, event: { type: 'turn-end', status: 'completed' } } as const
  const checkpoint = { id, checkpoint: { runId: id, revision: 1 }, expected: 0 }
  const { checkpoints } = store
  const methods: Readonly<Record<string, () => Promise<unknown>>> = {
    'change that creates': () =>
      store.change(id, () => ({ thread, turns: [turn], events: [event], checkpoint, result: 1 })),
    'change that drops': () => store.change(id, () => ({ thread, droppedThrough: 1, retracted: [1], result: 1 })),
    'change that pauses': () => store.change(id, () => ({ thread: { ...thread, isPaused: true }, result: 1 })),
    'change that continues': () => store.change(id, () => ({ thread, result: 1 })),
    load: () => store.load(id),
    'load with names': () => store.load(id, { turn: id, messageId: 'm' }),
    events: () => store.events(id, { turn: id, keptOnly: true }),
    turns: () => store.turns(id),
    list: () => store.list({ limit: 3 }),
    'list after': () => store.list({ limit: 3, after: id }),
    due: () => store.due(Date.now(), 100),
    renewLeases: () => store.renewLeases([{ turn: id, leaseUntil: 1 }], 0),
    now: async () => await store.now?.(),
    'checkpoints.load': () => checkpoints.load(id),
    'checkpoints.save': () => checkpoints.save(id, { runId: id, revision: 2 }, 1),
    'checkpoints.prune': () => checkpoints.prune({ olderThan: 0 }),
    'checkpoints.delete': () => checkpoints.delete(id),
    'change that rewinds': () => store.change(id, () => ({ thread, supersededFrom: 1, result: 1 })),
    'change that deletes': () =>
      store.change(id, () => ({ thread: { ...thread, isDeleted: true }, deletesAll: true, result: 1 })),
  }
  const rows: Record<string, number> = {}
  for (const [name, call] of Object.entries(methods)) {
    const before = await rowsRead()
    await call()
    rows[name] = (await rowsRead()) - before
  }
  return rows
}

/** After this many calls of a prepared statement PostgreSQL may use one plan for all values. */
const CALLS = 7

test.each([
  ['', {}],
  [', with prepared statements', { prepared: (statement: PreparedStatement) => pool.query(statement) }],
])(
  'postgres%s: no method reads more rows because there are more finished, paused or deleted threads (W62)',
  async (_, options) => {
    await setUpPostgresThreads({ pool })
    const store = postgresThreads({ pool, ...options })
    const agent = createAgent({ name: 'chat', model: scriptedModel([respond(say('Hello'))]) })
    await (await createThreads({ agent, store }).send('model', 'Hi')).result
    await copyThread('model', 1, 500)
    for (let run = 1; run < CALLS; run++) await rowsOfMethods(store, run)
    const few = await rowsOfMethods(store, CALLS)
    await copyThread('model', 501, 50_000)
    for (let run = CALLS + 1; run <= 2 * CALLS; run++) {
      const many = await rowsOfMethods(store, run)
      expect(Object.entries(many).filter(([method, rows]) => rows > (few[method] ?? 0))).toEqual([])
    }
  },
)
