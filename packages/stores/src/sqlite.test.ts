import { chmod, mkdtemp, open, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { CheckpointCorruptError, CheckpointStoreError } from '@meanwhile/core'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { storeContract } from './contract.ts'
import { sqliteStore } from './sqlite.ts'

let scratch: string
let path: string

beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'meanwhile-sqlite-'))
  path = join(scratch, 'checkpoints.sqlite')
})

afterEach(async () => {
  await rm(scratch, { recursive: true, force: true })
})

const checkpoint = (revision: number) => ({ runId: 'run', revision })

const contract = storeContract(() => {
  const store = sqliteStore(path)
  const elsewhere = sqliteStore(path)
  const raw = new DatabaseSync(path)
  return {
    store,
    elsewhere,
    bytes: {
      read: (id) => String(raw.prepare('SELECT checkpoint FROM checkpoints WHERE id = ?').get(id)?.checkpoint),
      write: (id, bytes) => {
        raw.prepare('UPDATE checkpoints SET checkpoint = ? WHERE id = ?').run(bytes, id)
      },
    },
    close: () => {
      for (const opened of [store, elsewhere, raw]) opened.close()
    },
  }
})

for (const { name, run } of contract) {
  test(`sqlite: ${name}`, async () => {
    await expect(run()).resolves.toBeUndefined()
  })
}

test('sqlite: a stored checkpoint exists when the database is opened again (L17)', async () => {
  const first = sqliteStore(path)
  await first.save('run', checkpoint(1), 0)
  first.close()
  await expect(first.load('run')).rejects.toThrow()
  const second = sqliteStore(path)
  expect(await second.load('run')).toEqual(checkpoint(1))
  second.close()
})

test('sqlite: a database can be opened even if another connection keeps it from switching its journal (L17)', async () => {
  sqliteStore(path).close()
  const other = new DatabaseSync(path)
  other.exec('PRAGMA journal_mode = DELETE; BEGIN; SELECT * FROM checkpoints')
  const store = sqliteStore(path)
  expect(other.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'delete' })
  other.exec('COMMIT')
  await store.save('run', checkpoint(1), 0)
  expect(await store.load('run')).toEqual(checkpoint(1))
  for (const opened of [store, other]) opened.close()
})

test('sqlite: a damaged page damages what is loaded from it, a file that is not a database cannot be opened (L18)', async () => {
  const store = sqliteStore(path)
  const long = { ...checkpoint(1), filler: 'x'.repeat(100_000) }
  await store.save('run', long, 0)
  store.close()
  const file = await open(path, 'r+')
  const { size } = await file.stat()
  // All but the first page, which contains the schema.
  await file.write(Buffer.alloc(size - 4096, 0xff), 0, size - 4096, 4096)
  await file.close()
  const damaged = sqliteStore(path)
  await expect(damaged.load('run')).rejects.toThrow(CheckpointCorruptError)
  damaged.close()

  await writeFile(path, 'no database '.repeat(1_000))
  const wrong = new CheckpointStoreError('open', '', `the database ${path} cannot be opened`)
  expect(() => sqliteStore(path)).toThrow(
    expect.objectContaining({ message: wrong.message, operation: 'open', id: '' }),
  )
  expect(() => sqliteStore(join(scratch, 'not there', 'x'))).toThrow(CheckpointStoreError)
})

test('sqlite: without a path no store is made (A2)', () => {
  expect(() => sqliteStore(undefined as never)).toThrow(
    expect.objectContaining({ name: 'ConfigError', option: 'path' }),
  )
})

test('sqlite: while another process holds the lock, a save waits and the event loop goes on; after 5 s an error says so (L17)', async () => {
  const store = sqliteStore(path)
  const other = new DatabaseSync(path)
  vi.useFakeTimers()
  try {
    other.exec('BEGIN IMMEDIATE')
    const waiting = store.save('run', { runId: 'run', revision: 1 }, 0)
    await vi.advanceTimersByTimeAsync(4_900)
    expect(await store.load('run')).toBeUndefined()
    other.exec('ROLLBACK')
    await vi.advanceTimersByTimeAsync(100)
    await waiting
    other.exec('BEGIN IMMEDIATE')
    const refused = store.save('run', { runId: 'run', revision: 2 }, 1).catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(5_100)
    expect(await refused).toMatchObject({
      name: 'CheckpointStoreError',
      operation: 'save',
      message: expect.stringContaining('another process has locked the database for 5 s'),
      cause: { message: 'database is locked' },
    })
  } finally {
    vi.useRealTimers()
    other.close()
    store.close()
  }
})

test('sqlite: the files of a new database can only be read by their user, and the mode of an old one stays (W60)', async () => {
  const modes = async () =>
    Promise.all(
      (await readdir(scratch)).sort().map(async (name) => [name, (await stat(join(scratch, name))).mode & 0o777]),
    )
  for (const given of [path, `file:${path}-uri`]) {
    const store = sqliteStore(given)
    await store.save('run', checkpoint(1), 0)
    const files = await modes()
    expect(files.map(([, mode]) => mode)).toEqual(files.map(() => 0o600))
    expect(files).toHaveLength(given === path ? 3 : 4)
    store.close()
  }
  await chmod(path, 0o640)
  sqliteStore(path).close()
  expect(await modes()).toContainEqual([basename(path), 0o640])
})
