import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CheckpointConflictError, CheckpointCorruptError } from '@meanwhile/core'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { storeContract } from './contract.ts'
import { fileStore } from './file.ts'

let scratch: string
let root: string

beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'meanwhile-file-'))
  root = join(scratch, 'not', 'there yet')
})

afterEach(async () => {
  vi.useRealTimers()
  await rm(scratch, { recursive: true, force: true })
})

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

/** The one file of the only checkpoint. */
async function onlyFile(): Promise<string> {
  const [file, ...more] = await filesIn(root)
  expect(more).toEqual([])
  return file ?? ''
}

const checkpoint = (revision: number) => ({ runId: 'run', revision })

const contract = storeContract(() => ({
  store: fileStore(root),
  elsewhere: fileStore(root),
  bytes: {
    read: async () => readFile(await onlyFile(), 'latin1'),
    write: async (_, bytes) => writeFile(await onlyFile(), bytes, 'latin1'),
  },
}))

for (const { name, run } of contract) {
  test(`file: ${name}`, async () => {
    await expect(run()).resolves.toBeUndefined()
  })
}

test('file: without a folder no store is made (A2)', () => {
  expect(() => fileStore(undefined as never)).toThrow(
    expect.objectContaining({ name: 'ConfigError', option: 'directory' }),
  )
})

test('file: no id leaves its folder, and only its user can read the contents (L17)', async () => {
  const store = fileStore(root)
  const ids = ['../x', '../../x', '/etc/x', '..', '.', '', 'a/../../b', '..\\x', 'x\0', '\ud800', 'É'.repeat(5_000)]
  for (const id of ids) await store.save(id, checkpoint(1), 0)

  expect(await readdir(scratch)).toEqual(['not'])
  expect(await readdir(join(scratch, 'not'))).toEqual(['there yet'])
  const names = await readdir(root)
  expect(names).toHaveLength(ids.length)
  for (const name of names) expect(name).toMatch(/^[a-z0-9_-]{0,81}$/)
  expect((await stat(root)).mode & 0o777).toBe(0o700)
})

test('file: each file that it writes can only be read by its user (W60)', async () => {
  const store = fileStore(root)
  for (const revision of [1, 2]) {
    await store.save('run', checkpoint(revision), revision - 1)
    const files = await readdir(root, { recursive: true, withFileTypes: true })
    const modes = files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).mode & 0o077)
    expect(await Promise.all(modes)).toEqual([0, 0, 0])
  }
})

test('file: one version of a checkpoint exists at a time, readable and named after its id (L17)', async () => {
  vi.useFakeTimers({ now: 1_700_000_000_000, toFake: ['Date'] })
  const store = fileStore(root)
  for (let revision = 1; revision <= 3; revision++) await store.save('Run-1', checkpoint(revision), revision - 1)

  const file = await onlyFile()
  expect(file.slice(root.length)).toMatch(/^\/run-1-[0-9a-f]{40}\/(3-1700000000000-[0-9a-f]{16})\/\1\.json$/)
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(checkpoint(3))
})

test('file: the next save and prune remove what killed writers left (L17)', async () => {
  const store = fileStore(root)
  await store.save('run', checkpoint(1), 0)
  const folder = join(await onlyFile(), '..')
  await writeFile(join(folder, '2-1000-0123456789abcdef.json'), '{ "cut')
  expect(await store.load('run')).toEqual(checkpoint(1))
  await store.save('run', checkpoint(2), 1)
  expect(await store.load('run')).toEqual(checkpoint(2))
  await onlyFile()

  const left = join(root, '.tmp-1000-0123456789abcdef', '1-1000-0123456789abcdef')
  await mkdir(left, { recursive: true })
  await writeFile(join(left, '1-1000-0123456789abcdef.json'), '{ "cut')
  const emptied = join(root, `gone-${'0'.repeat(40)}`)
  await mkdir(emptied)
  await mkdir(join(root, 'not ours'))
  await writeFile(join(root, 'nor this'), '')

  expect(await store.prune({ olderThan: 1_000 })).toBe(0)
  expect(await readdir(root)).toContain('.tmp-1000-0123456789abcdef')
  expect(await store.prune({ olderThan: 1_001 })).toBe(0)
  expect((await readdir(root)).toSorted()).toEqual(['nor this', 'not ours', expect.stringMatching(/^run-/)])
  expect(await store.load('run')).toEqual(checkpoint(2))
})

test('file: pruning everything keeps what is being written (L17)', async () => {
  vi.useFakeTimers({ now: 1_000_000, toFake: ['Date'] })
  const written = join(root, '.tmp-999999-0123456789abcdef')
  await mkdir(written, { recursive: true })
  const store = fileStore(root)
  await store.prune({ olderThan: 2_000_000 })
  expect(await readdir(root)).toHaveLength(1)
  vi.setSystemTime(1_060_000)
  await store.prune({ olderThan: 2_000_000 })
  expect(await readdir(root)).toEqual([])
})

test('file: a first save replaces a folder that a killed delete left (L17)', async () => {
  const store = fileStore(root)
  await store.save('run', checkpoint(1), 0)
  const folder = join(await onlyFile(), '..', '..')
  await rm(folder, { recursive: true })
  await mkdir(folder)
  expect(await store.load('run')).toBeUndefined()
  await store.save('run', checkpoint(1), 0)
  expect(await store.load('run')).toEqual(checkpoint(1))
})

test('file: a lost file, a second version and bytes that are not UTF-8 are damage; delete removes them (L18)', async () => {
  const store = fileStore(root)
  await store.save('run', checkpoint(1), 0)
  const file = await onlyFile()
  await writeFile(file, Buffer.from('{"runId":"\xff","revision":1}', 'latin1'))
  await expect(store.load('run')).rejects.toThrow(CheckpointCorruptError)
  await rm(file)
  await expect(store.load('run')).rejects.toThrow(CheckpointCorruptError)
  await mkdir(join(file, '..', '..', '2-1000-0123456789abcdef'))
  await expect(store.load('run')).rejects.toThrow(CheckpointCorruptError)
  await expect(store.save('run', checkpoint(2), 1)).rejects.toThrow(CheckpointCorruptError)
  expect(await filesIn(root)).toEqual([])

  await store.delete('run')
  expect(await readdir(root)).toEqual([])
  expect(await store.load('run')).toBeUndefined()
})

test('file: a save that cannot be written rejects with the reason, and leaves only the old checkpoint (L17)', async () => {
  const store = fileStore(root)
  await store.save('run', checkpoint(1), 0)
  const unwritable = { ...checkpoint(2), big: 1n }
  await expect(store.save('run', unwritable, 1)).rejects.toThrow(TypeError)
  expect(await store.load('run')).toEqual(checkpoint(1))

  const blocked = fileStore(await onlyFile())
  expect(await blocked.load('run')).toBeUndefined()
  await expect(blocked.save('run', checkpoint(1), 0)).rejects.toMatchObject({ code: 'EEXIST' })
  expect(await store.load('run')).toEqual(checkpoint(1))
})

test('file: parallel saves, deletes and prunes of one id leave it valid (L17)', async () => {
  const stores = [fileStore(root), fileStore(root), fileStore(root)]
  const [a, b, c] = stores
  if (!a || !b || !c) throw new Error('three')
  const unexpected: unknown[] = []
  const tolerant = async (work: Promise<unknown>): Promise<void> => {
    await work.catch((error: unknown) => {
      if (!(error instanceof CheckpointConflictError)) unexpected.push(error)
    })
  }
  const saver = async (store: typeof a): Promise<void> => {
    for (let round = 0; round < 60; round++) {
      const found = await store.load('run')
      const revision = typeof found === 'object' && found && 'revision' in found ? Number(found.revision) : 0
      await tolerant(store.save('run', checkpoint(revision + 1), revision))
    }
  }
  const remover = async (): Promise<void> => {
    for (let round = 0; round < 30; round++) {
      await tolerant(round % 2 ? c.delete('run') : c.prune({ olderThan: Date.now() - 5 }))
    }
  }
  await Promise.all([saver(a), saver(b), remover()])
  expect(unexpected).toEqual([])
  const found = await a.load('run')
  if (found !== undefined) await onlyFile()
  await a.delete('run')
  expect(await readdir(root)).toEqual([])
})
