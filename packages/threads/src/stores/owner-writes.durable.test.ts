import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type ModelRequest, textOf, tool } from '@meanwhile/core'
import { cuttingProxy } from '@meanwhile/postgres-cluster'
import { ownDatabase } from '@meanwhile/postgres-cluster/testing'
import { Pool } from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { chat, until } from '../../test/chat.ts'
import { countedPool, fakeTimers } from '../../test/counted-pool.ts'
import { look } from '../../test/look.ts'
import { createThreads, type StoredEvent, type ThreadStore, type TurnRecord } from '../index.ts'
import { type PostgresThreadsOptions, postgresThreads, setUpPostgresThreads } from '../postgres.ts'
import { newThread } from '../thread-records.ts'
import type { Change } from '../thread-store.ts'

let url: string
const pools = new Set<Pool>()

beforeEach(async () => {
  url = await ownDatabase()
  await setUpPostgresThreads({ pool: poolOf() })
})

afterEach(async () => {
  vi.useRealTimers()
  await Promise.all([...pools].map((pool) => pool.end()))
  pools.clear()
})

function poolOf(connectionString = url): Pool {
  const pool = new Pool({ connectionString, idleTimeoutMillis: 0 })
  pool.on('error', () => {})
  pools.add(pool)
  return pool
}

test('a turn of four seconds takes at most 60 statements, from its message to its result (TH12)', async () => {
  // Each text is two deltas.
  const words = (step: number) => Array.from({ length: 50 }, (_, n) => say(`${step}.${n} `))
  const pace = { firstToken: 20, betweenTokens: 20 }
  const model = scriptedModel([respond(...words(1), call('look')), respond(...words(2))], { pace })
  const counted = countedPool(poolOf())
  const threads = createThreads({
    agent: createAgent({ name: 'talker', model, tools: [look] }),
    store: postgresThreads({ pool: counted.pool }),
  })
  fakeTimers()
  const result = (await threads.send('t', 'Talk')).result
  expect(await counted.passUntil(result)).toBeGreaterThanOrEqual(4_000)
  expect(await result).toMatchObject({ status: 'completed' })
  expect(counted.taken().length).toBeLessThanOrEqual(60)
})

const WRITE = 'write_thread_2'

const turnOf = (number: number, changes: Partial<TurnRecord>): TurnRecord => ({
  id: `turn ${number} \0\ud800`,
  number,
  status: 'queued',
  messageId: `m${number}`,
  createdAt: 1,
  epoch: 1,
  leaseUntil: 0,
  ...changes,
})
const eventOf = (seq: number, isKept = false): StoredEvent => ({
  seq,
  turn: turnOf(1, {}).id,
  isKept,
  event: { type: 'message', message: { role: 'user', content: `\0 \ud800 ${seq}` }, runId: 'r', messageId: `e${seq}` },
})
const checkpointOf = (revision: number) => ({
  id: 'run',
  expected: revision - 1,
  checkpoint: { runId: 'run', revision },
})

/** One after the other, the changes of a thread whose first turn runs and ends. Each part of a change is in one of them, or in more. */
const CHANGES: readonly Partial<Change<unknown>>[] = [
  {
    events: [eventOf(1, true), eventOf(2), eventOf(3, true), eventOf(4), eventOf(5, true)],
    checkpoint: checkpointOf(1),
  },
  { thread: { ...newThread('t', '01234567', 0).thread, turns: 1 } },
  { events: [eventOf(6)], checkpoint: checkpointOf(2) },
  { retracted: [3], events: [eventOf(7)] },
  { droppedThrough: 4, turns: [turnOf(2, {})] },
  { retracted: [1, 5], droppedThrough: 6, turns: [turnOf(3, { startSeq: 5 })] },
  { deletedCheckpoints: ['other', 'another'] },
  {
    turns: [turnOf(1, { status: 'completed' }), turnOf(2, { status: 'running', leaseUntil: 7, startSeq: 8 })],
    events: [eventOf(8, true)],
  },
]

test('what the owner of a turn writes in one round trip is what transactions write (W61)', async () => {
  const pool = poolOf()
  const rowsOf = async (schema: string) => {
    const all = async (columns: string, table: string) =>
      (await pool.query(`SELECT ${columns} FROM ${schema}.${table} ORDER BY key`)).rows
    const [threads, turns, checkpoints] = await Promise.all([
      all('key, state, record', 'threads'),
      all('*', 'turns'),
      all('key, revision, checkpoint', 'checkpoints'),
    ])
    const { rows: events } = await pool.query(`SELECT * FROM ${schema}.thread_events ORDER BY seq`)
    return { threads, turns, checkpoints, events }
  }
  const writtenBy = async (schema: string, isOwner: boolean) => {
    await setUpPostgresThreads({ pool, schema })
    const counted = countedPool(pool)
    const store = postgresThreads({ pool: counted.pool, schema })
    const { thread } = newThread('t', '01234567', 0)
    await store.change('t', () => ({ thread, turns: [turnOf(1, { status: 'running', leaseUntil: 9 })], result: 0 }))
    for (const id of ['other', 'another', 'kept']) await store.checkpoints.save(id, { runId: id, revision: 1 }, 0)
    const rows: unknown[] = []
    counted.taken()
    for (const change of CHANGES) {
      await store.change('t', () => ({ ...change, result: 0 }), { turn: turnOf(1, {}).id, isOwner })
      rows.push(await rowsOf(schema))
    }
    return { rows, statements: counted.taken() }
  }
  const byFunction = await writtenBy('by_function', true)
  const byTransactions = await writtenBy('by_transactions', false)
  expect(byFunction.rows).toEqual(byTransactions.rows)
  expect(byFunction.statements.filter((text) => !text.includes(WRITE))).toEqual([])
  expect(byTransactions.statements.filter((text) => text.includes(WRITE))).toEqual([])
})

/** An agent that pays once in each turn, and says what it has paid. */
function clerk(paid: string[]) {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ bill: z.string() }),
    execute({ bill }) {
      paid.push(bill)
      return `paid ${bill}`
    },
  })
  const answer = ({ messages }: ModelRequest) => {
    const last = messages.at(-1)
    if (last?.role === 'tool') return respond(say(`I ${textOf(last)}.`))
    return respond(say('Well. '), call('pay', { bill: last ? textOf(last) : '' }))
  }
  return createAgent({ name: 'clerk', model: scriptedModel(Array.from({ length: 8 }, () => answer)), tools: [pay] })
}

interface Cut {
  readonly when: 'before' | 'during' | 'after'
  /** Which write of the owner of the turn it is, from 1. */
  readonly at: number
}

/** A pool through a proxy that cuts the connection at one write of the owner. */
async function cutting({ when, at }: Cut, meanwhile: () => Promise<void>) {
  const proxy = await cuttingProxy(url)
  const pool = poolOf(proxy.url)
  let writes = 0
  let cut: Promise<void> | undefined
  const cuttingPool: PostgresThreadsOptions['pool'] = {
    connect: () => pool.connect(),
    query(text, values) {
      if (text.includes(WRITE) && ++writes === at) cut = proxy.cut(when, WRITE, meanwhile)
      return pool.query(text, values)
    },
  }
  return { pool: cuttingPool, cut: () => cut, close: () => proxy.close() }
}

/** Plays a turn whose owner loses its connection at one write, while another process sends a message to the thread. Returns whether it was cut. */
async function playCut(thread: string, cut: Cut, otherPool: Pool): Promise<boolean> {
  const [paid, errors]: [string[], unknown[]] = [[], []]
  const agent = () => clerk(paid)
  const other = createThreads({ agent, store: postgresThreads({ pool: otherPool }) })
  const cutPool = await cutting(cut, async () => {
    await other.send(thread, 'two', { messageId: 'm2' })
  })
  const store = postgresThreads({ pool: cutPool.pool })
  const owner = createThreads({ agent, store, onError: (error) => errors.push(error) })
  try {
    const first = await owner.send(thread, 'one')
    expect(await first.result).toMatchObject({ status: 'completed', text: 'I paid one.' })
    await cutPool.cut()
    const second = await other.send(thread, 'two', { messageId: 'm2' })
    expect(await second.result).toMatchObject({ status: 'completed', text: 'I paid two.' })
    const texts = (await other.read(thread)).messages.map(({ message }) => textOf(message))
    expect(texts).toEqual(['one', 'Well. ', 'paid one', 'I paid one.', 'two', 'Well. ', 'paid two', 'I paid two.'])
    expect([paid, errors]).toEqual([['one', 'two'], []])
    return cutPool.cut() !== undefined
  } finally {
    await Promise.all([owner.close(), other.close()])
    await cutPool.close()
  }
}

test.each(['before', 'during', 'after'] as const)(
  'whichever write of a turn is cut %s its statement while another process sends a message, nothing is lost or written twice (W28)',
  async (when) => {
    const otherPool = poolOf()
    const cuts: boolean[] = []
    for (let at = 1; at <= 10; at += 2) {
      const both = [at, at + 1].map((one) => playCut(`${when} ${one}`, { when, at: one }, otherPool))
      cuts.push(...(await Promise.all(both)))
    }
    expect(cuts.filter(Boolean).length).toBeGreaterThanOrEqual(6)
  },
)

test('the look-up after a lost connection waits until the server has ended the statement that was sent (W28)', async () => {
  const paid: string[] = []
  const observer = poolOf()
  const blocker = await observer.connect()
  // The first statement of the owner only reads. The second one writes a checkpoint, and waits for the lock.
  const cutPool = await cutting({ when: 'during', at: 2 }, async () => {
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%${WRITE}(%' AND pid <> pg_backend_pid()`
    await expect.poll(async () => (await observer.query(waiting)).rows.length).toBe(1)
  })
  const threads = createThreads({ agent: clerk(paid), store: postgresThreads({ pool: cutPool.pool }) })
  try {
    await blocker.query('BEGIN; LOCK TABLE meanwhile.checkpoints IN ACCESS EXCLUSIVE MODE')
    const turn = await threads.send('t', 'one')
    await expect.poll(() => cutPool.cut() !== undefined).toBe(true)
    await cutPool.cut()
    await blocker.query('COMMIT')
    expect(await turn.result).toMatchObject({ status: 'completed' })
    expect(paid).toEqual(['one'])
  } finally {
    blocker.release()
    await threads.close()
    await cutPool.close()
  }
})

/** A pool that reports one write of the owner as lost. Its statement reaches the server late: just before the next write. */
function delaying(pool: Pool, at: number): PostgresThreadsOptions['pool'] {
  let writes = 0
  let late: (() => Promise<unknown>) | undefined
  return {
    connect: () => pool.connect(),
    async query(text, values = []) {
      // Without a change that it knows, the owner only reads.
      const isWrite = text.includes(WRITE) && values[3] !== null
      if (isWrite && ++writes === at) {
        late = () => pool.query(text, values)
        throw new Error('Connection terminated unexpectedly')
      }
      if (isWrite) await late?.()
      if (isWrite) late = undefined
      return await pool.query(text, values)
    },
  }
}

test.each([1, 2, 3, 4, 5, 6, 7])(
  'write %i of an owner that lost its connection and reaches the server after the look-up is made once (W28)',
  async (at) => {
    const [paid, errors]: [string[], unknown[]] = [[], []]
    const store = postgresThreads({ pool: delaying(poolOf(), at) })
    const threads = createThreads({ agent: clerk(paid), store, onError: (error) => errors.push(error) })
    try {
      const turns = [await threads.send('t', 'one'), await threads.send('t', 'two')]
      const results = await Promise.all(turns.map((turn) => turn.result))
      expect([paid, errors]).toEqual([['one', 'two'], []])
      expect(results.map(({ text }) => text)).toEqual(['I paid one.', 'I paid two.'])
    } finally {
      await threads.close()
    }
  },
)

test('a stop, a steering message and a deletion by another process arrive with the next write of the owner (TH2, TH6)', async () => {
  const { agent, open } = chat()
  const owner = createThreads({ agent, store: postgresThreads({ pool: poolOf() }), lease: 300 })
  const other = createThreads({ agent, store: postgresThreads({ pool: poolOf() }), lease: 300 })
  try {
    const turns = await Promise.all(['stopped', 'steered', 'deleted'].map((thread) => owner.send(thread, 'slow')))
    await Promise.all(turns.map((turn) => until(turn, 'tool-entered')))
    const [stopped, steered, deleted] = turns.map((turn) => turn.result)
    await other.send('steered', 'and quickly', { whenBusy: 'steer', messageId: 'm2' })
    await Promise.all([other.stop('stopped'), other.delete('deleted')])
    expect(await stopped).toMatchObject({ status: 'stopped' })
    await expect(deleted).rejects.toThrow('deleted')
    open()
    expect(await steered).toMatchObject({ status: 'completed', text: 'You said and quickly.' })
  } finally {
    await Promise.all([owner.close(), other.close()])
  }
})

/** A store that awaits `meanwhile` before it writes the end of the first turn. */
function beforeEnd(store: ThreadStore, meanwhile: () => Promise<unknown>): ThreadStore {
  let isOver = false
  return {
    ...store,
    async change(id, decide, options = {}) {
      const stored = options.isOwner && !isOver ? await store.load(id, options) : undefined
      if (stored && decide(stored, Date.now()).events?.some(({ event }) => event.type === 'turn-end')) {
        isOver = true
        await meanwhile()
      }
      return await store.change(id, decide, options)
    },
  }
}

test.each(['completed', 'failed'] as const)(
  'a turn that has %s ends, and the next one begins, also if its message should have joined and came too late (TH2, TH3)',
  async (status) => {
    const { agent } = chat()
    const errors: string[] = []
    const plain = postgresThreads({ pool: poolOf() })
    const other = createThreads({ agent, store: plain })
    const late = () => other.send('t', 'two', { whenBusy: 'steer', messageId: 'm2' })
    const owner = createThreads({
      agent,
      store: beforeEnd(plain, late),
      onError: (error) => errors.push(String(error)),
    })
    try {
      const first = await owner.send('t', status === 'failed' ? 'fails' : 'one')
      expect(await first.result).toMatchObject({ status })
      const second = await late()
      expect(await second.result).toMatchObject({ status: 'completed', text: 'You said two.' })
      expect(errors).toEqual(status === 'failed' ? ['ModelError: no'] : [])
      expect((await owner.read('t')).turns.map((turn) => turn.status)).toEqual([status, 'completed'])
    } finally {
      await Promise.all([owner.close(), other.close()])
    }
  },
)

/** `options`: the settings of all connections of the owner. */
test.each([
  { when: 'the function is missing', statement: 'DROP FUNCTION meanwhile.write_thread_2', options: '' },
  {
    when: 'the user may not call the function',
    statement: `CREATE ROLE writer_without_functions; GRANT USAGE ON SCHEMA meanwhile TO writer_without_functions;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA meanwhile TO writer_without_functions;
      REVOKE EXECUTE ON FUNCTION meanwhile.write_thread_2 FROM PUBLIC`,
    options: '-c role=writer_without_functions',
  },
  {
    when: 'transactions see one snapshot',
    statement: 'SELECT',
    options: String.raw`-c default_transaction_isolation=repeatable\ read`,
  },
])('if $when, the owner asks once, and writes with transactions (TH6)', async ({ statement, options }) => {
  await poolOf().query(statement)
  const pool = new Pool({ connectionString: url, options })
  pools.add(pool)
  const paid: string[] = []
  const errors: unknown[] = []
  const counted = countedPool(pool)
  const store = postgresThreads({ pool: counted.pool })
  const threads = createThreads({ agent: clerk(paid), store, onError: (error) => errors.push(error) })
  expect(await (await threads.send('t', 'one')).result).toMatchObject({ status: 'completed', text: 'I paid one.' })
  expect([paid, errors]).toEqual([['one'], []])
  expect(counted.taken().filter((text) => text.includes(WRITE))).toHaveLength(1)
})
