import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { CheckpointStoreError, ConfigError, createAgent } from '@meanwhile/core'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createThreads, type TurnRecord } from '../index.ts'
import { sqliteThreads } from '../sqlite.ts'
import { threadStoreContract } from '../testing.ts'
import { newThread } from '../thread-records.ts'

let scratch: string
let path: string

beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'meanwhile-threads-'))
  path = join(scratch, 'chat.db')
})

afterEach(async () => {
  await rm(scratch, { recursive: true, force: true })
})

const contract = threadStoreContract(() => {
  const store = sqliteThreads(path)
  const elsewhere = sqliteThreads(path)
  const close = () => {
    store.close()
    elsewhere.close()
  }
  return { store, elsewhere, close }
})

for (const { name, run } of contract) {
  test(`sqlite: ${name} (TH6, TH9)`, async () => {
    await expect(run()).resolves.toBeUndefined()
  })
}

test('sqlite: stored data is in the database when it is opened again (TH6)', async () => {
  const first = sqliteThreads(path)
  await first.checkpoints.save('run', { runId: 'run', revision: 1 }, 0)
  first.close()
  await expect(first.list({ limit: 1 })).rejects.toThrow()
  const second = sqliteThreads(path)
  expect(await second.checkpoints.load('run')).toEqual({ runId: 'run', revision: 1 })
  second.close()
})

test('sqlite: a path that cannot be opened causes a clear error (TH9)', async () => {
  await writeFile(path, 'no database '.repeat(1_000))
  expect(() => sqliteThreads(path)).toThrow(CheckpointStoreError)
  expect(() => sqliteThreads(join(scratch, 'not there', 'x'))).toThrow(CheckpointStoreError)
  expect(() => sqliteThreads(undefined as never)).toThrow(ConfigError)
})

/** Another process that holds the lock of the database. */
function locked(): { unlock(): void } {
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  return {
    unlock() {
      other.exec('ROLLBACK')
      other.close()
    },
  }
}

test('sqlite: while another process holds the lock, a change waits and the event loop goes on; after 5 s an error names the thread and the reason (TH9)', async () => {
  const store = sqliteThreads(path)
  const { thread } = newThread('t', '01234567', 0)
  await store.change('t', () => ({ thread, result: undefined }))
  vi.useFakeTimers()
  try {
    const first = locked()
    const waiting = store.change('t', () => ({ thread, result: 'done' }))
    await vi.advanceTimersByTimeAsync(4_900)
    expect(await store.load('t')).toMatchObject({ thread: { id: 't' } })
    first.unlock()
    await vi.advanceTimersByTimeAsync(100)
    expect(await waiting).toBe('done')

    const second = locked()
    const problem = 'another process has locked the database for 5 s'
    const ends = Promise.allSettled([
      store.change('t', () => ({ thread, result: undefined })),
      store.checkpoints.save('run', { runId: 'run', revision: 1 }, 0),
      store.checkpoints.delete('run'),
    ])
    await vi.advanceTimersByTimeAsync(5_100)
    const locks = { cause: { message: 'database is locked' } }
    expect(await ends).toMatchObject([
      { reason: { name: 'ThreadError', thread: 't', message: `thread "t": ${problem}`, ...locks } },
      { reason: { name: 'CheckpointStoreError', id: 'run', message: expect.stringContaining(problem), ...locks } },
      { reason: { name: 'CheckpointStoreError', id: 'run', ...locks } },
    ])
    second.unlock()
  } finally {
    vi.useRealTimers()
    store.close()
  }
})

test('sqlite: the text of a deleted thread is in none of the files of the database (TH9)', async () => {
  const store = sqliteThreads(path)
  const elsewhere = sqliteThreads(path)
  const textOf = (id: string) => `the secret of <${id}>, `
  const threads = createThreads({
    store,
    agent: ({ id }) => createAgent({ model: scriptedModel([respond(say(textOf(id).repeat(200)))]) }),
  })
  const ids = Array.from({ length: 20 }, (_, n) => `t${n}`)
  for (const id of ids) await (await threads.send(id, textOf(id).repeat(2 + (Number(id.slice(1)) % 7) * 40))).result
  const isDeleted = (id: string) => Number(id.slice(1)) % 3 !== 0
  for (const id of ids.filter(isDeleted)) await threads.delete(id)
  const files = await Promise.all((await readdir(scratch)).map((file) => readFile(join(scratch, file), 'latin1')))
  const found = ids.filter((id) => files.some((bytes) => bytes.includes(textOf(id))))
  expect(found).toEqual(ids.filter((id) => !isDeleted(id)))
  await threads.close()
  store.close()
  elsewhere.close()
})

test('sqlite: the time of a write does not grow with the number of turns of its thread (TH12)', async () => {
  const store = sqliteThreads(path)
  const opened = async (id: string, count: number) => {
    const { thread } = newThread(id, '01234567', 0)
    const turns = Array.from({ length: count + 1 }, (_, n): TurnRecord => {
      const status = n === count ? 'running' : 'completed'
      const times = { createdAt: 0, epoch: 1, leaseUntil: 0, startSeq: n + 1 }
      return { id: `${id} ${n}`, number: n + 1, status, messageId: `${n}`, text: 'x'.repeat(400), ...times }
    })
    await store.change(id, () => ({ thread, turns, result: undefined }))
    return async () => {
      const begun = performance.now()
      await store.change(id, (stored) => ({ thread: stored?.thread ?? thread, result: undefined }), {
        turn: `${id} ${count}`,
        mayBeLost: true,
      })
      return performance.now() - begun
    }
  }
  const few = await opened('few', 10)
  const many = await opened('many', 4_000)
  const times: [number, number][] = []
  for (let write = 0; write < 41; write++) times.push([await few(), await many()])
  const medianOf = (of: 0 | 1) => times.map((pair) => pair[of]).toSorted((a, b) => a - b)[20] ?? 0
  expect(medianOf(1)).toBeLessThan(10 * medianOf(0))
  store.close()
})

test('sqlite: the files of a new database can only be read by their user, and the mode of an old one stays (W60)', async () => {
  const modes = async () =>
    Promise.all(
      (await readdir(scratch)).sort().map(async (name) => [name, (await stat(join(scratch, name))).mode & 0o777]),
    )
  for (const given of [path, `file:${path}-uri`]) {
    const store = sqliteThreads(given)
    await store.checkpoints.save('run', { runId: 'run', revision: 1 }, 0)
    const files = await modes()
    expect(files.map(([, mode]) => mode)).toEqual(files.map(() => 0o600))
    expect(files).toHaveLength(given === path ? 3 : 4)
    store.close()
  }
  await chmod(path, 0o640)
  sqliteThreads(path).close()
  expect(await modes()).toContainEqual([basename(path), 0o640])
})

test('sqlite: no statement reads more rows because there are more finished, paused or deleted threads (W62)', () => {
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
  sqliteThreads(path).close()
  const statements = prepare.mock.calls.map(([text]) => text)
  prepare.mockRestore()
  const database = new DatabaseSync(path)
  const plans = statements.map((text) => {
    // The numbers of the values are enough for a plan.
    const rows = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all()
    return { text, scans: rows.map(({ detail }) => String(detail)).filter((detail) => detail.startsWith('SCAN')) }
  })
  database.close()
  expect(plans.length).toBeGreaterThan(20)
  // The list reads a page of an index that has no deleted threads. Everything else is found by a key.
  const listed = plans.filter(({ scans }) => scans.includes('SCAN threads USING INDEX threads_listed'))
  expect(listed.map(({ text }) => text.endsWith('ORDER BY number DESC LIMIT ?'))).toEqual([true])
  const others = plans.filter((plan) => !listed.includes(plan))
  expect(others.filter(({ scans }) => scans.some((scan) => !/^SCAN (\d|SUBQUERY|\(subquery)/.test(scan)))).toEqual([])
})
