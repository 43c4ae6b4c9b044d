import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expectLinear } from '@meanwhile/tests/growth'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openByDescriptor, openByPath } from './directory/folder.ts'
import { Directory } from './directory.ts'
import type { FileBackend } from './file-backend.ts'
import { memoryBackend } from './memory-backend.ts'

let root: string
beforeEach(async () => void (root = await realpath(await mkdtemp(join(tmpdir(), 'meanwhile-')))))
afterEach(() => rm(root, { recursive: true }))

const backends: readonly (readonly [string, () => FileBackend])[] = [
  ['memory', () => memoryBackend()],
  ['a directory, by descriptor', () => new Directory(root, openByDescriptor)],
  ['a directory, by path', () => new Directory(root, openByPath)],
]

const bytes = (text: string) => new TextEncoder().encode(text)
const all = { maxBytes: 1_000 }
const textIn = async (backend: FileBackend, path: string) =>
  new TextDecoder().decode((await backend.read(path, all)).bytes)

test.each(backends)('%s returns what was written, byte for byte, and creates missing folders', async (_, make) => {
  const backend = make()
  const content = new Uint8Array([0, 255, 10, 13, 128])
  const version = await backend.write('a/b/c.bin', content)
  expect(await backend.read('a/b/c.bin', all)).toEqual({ bytes: content, version })
  expect(await backend.stat('a/b/c.bin')).toMatchObject({ kind: 'file', size: 5, modified: expect.any(Number) })
  expect(await backend.stat('a/b')).toMatchObject({ kind: 'folder' })
  expect(await backend.stat('')).toMatchObject({ kind: 'folder' })
  expect(await backend.stat('a/nothing')).toBeUndefined()
  expect(await backend.stat('nothing/at/all')).toBeUndefined()
  await backend.write('empty', new Uint8Array())
  expect((await backend.read('empty', { maxBytes: 0 })).bytes).toEqual(new Uint8Array())
})

test.each(backends)('%s lists the entries of a folder, at most as many as requested', async (_, make) => {
  const backend = make()
  for (const path of ['b.txt', 'a/x.txt', 'a/y.txt', 'a/deep/z.txt']) await backend.write(path, bytes(path))
  const names = async (path: string, limit = 10) =>
    (await backend.list(path, { limit })).map(({ name, kind }) => `${name} ${kind}`).sort()
  expect(await names('')).toEqual(['a folder', 'b.txt file'])
  expect(await names('.')).toEqual(['a folder', 'b.txt file'])
  expect(await names('a/')).toEqual(['deep folder', 'x.txt file', 'y.txt file'])
  expect(await names('a', 2)).toHaveLength(2)
})

test.each(backends)('%s normalizes paths: dots, double and trailing slashes change nothing', async (_, make) => {
  const backend = make()
  await backend.write('./a//b.txt', bytes('one'))
  expect(await textIn(backend, 'a/./b.txt')).toBe('one')
})

test.each(backends)('%s replaces a file only in the given version (N37)', async (_, make) => {
  const backend = make()
  const first = await backend.write('a.txt', bytes('one'), { replaces: null })
  await expect(backend.write('a.txt', bytes('two'), { replaces: null })).rejects.toMatchObject({ code: 'changed' })
  const second = await backend.write('a.txt', bytes('two'), { replaces: first })
  expect(second).not.toBe(first)
  await expect(backend.write('a.txt', bytes('three'), { replaces: first })).rejects.toMatchObject({ code: 'changed' })
  await expect(backend.write('b.txt', bytes('b'), { replaces: first })).rejects.toMatchObject({ code: 'changed' })
  expect(await textIn(backend, 'a.txt')).toBe('two')
  expect(await backend.stat('b.txt')).toBeUndefined()
})

test.each(backends)('%s lets one of many writers of one version succeed (N37)', async (_, make) => {
  const backend = make()
  const first = await backend.write('a.txt', bytes('start'))
  const writes = Array.from({ length: 10 }, (_, n) => backend.write('a.txt', bytes(`${n}`), { replaces: first }))
  const settled = await Promise.allSettled(writes)
  const stood = settled.findIndex(({ status }) => status === 'fulfilled')
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(await textIn(backend, 'a.txt')).toBe(`${stood}`)
})

test.each(backends)(
  '%s reports failures with a code and a message without a path of the host (N38)',
  async (_, make) => {
    const backend = make()
    await backend.write('a/b.txt', bytes('0123456789'))
    const failures: readonly (readonly [() => Promise<unknown>, string])[] = [
      [() => backend.read('nothing.txt', all), 'not-found'],
      [() => backend.read('a', all), 'not-a-file'],
      [() => backend.read('', all), 'not-a-file'],
      [() => backend.write('a', bytes('')), 'not-a-file'],
      [() => backend.list('nothing', { limit: 1 }), 'not-found'],
      [() => backend.read('a/b.txt', { maxBytes: 9 }), 'too-large'],
      [() => backend.read('../x', all), 'refused'],
    ]
    for (const [failing, code] of failures) {
      const error: unknown = await failing().catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ name: 'FileError', code })
      expect(String(error)).not.toContain(root)
      expect(String(error)).not.toContain('/proc')
    }
    await expect(backend.list('a/b.txt', { limit: 1 })).rejects.toMatchObject({ name: 'FileError' })
    await expect(backend.write('a/b.txt/c.txt', bytes(''))).rejects.toMatchObject({ name: 'FileError' })
  },
)

test('a memory backend keeps copies: changes that a caller makes to its bytes change no file', async () => {
  const mine = bytes('one')
  const backend = memoryBackend({ 'a.txt': mine, 'b.txt': 'two' })
  mine[0] = 0
  const { bytes: read } = await backend.read('a.txt', all)
  read[0] = 0
  expect(await textIn(backend, 'a.txt')).toBe('one')
  expect(await textIn(backend, 'b.txt')).toBe('two')
  expect(() => memoryBackend({ '../a': '' })).toThrow('..')
})

test('a memory backend of many files and folders takes linear time', () =>
  expectLinear(1_000, async (count) => {
    const paths = Array.from({ length: count }, (_, n) => `${n % 2 === 0 ? n : 'all'}/${n}.txt`)
    const backend = memoryBackend(Object.fromEntries(paths.map((path) => [path, ''])))
    const stats = await Promise.all(paths.flatMap((path) => [backend.stat(path), backend.stat(`${path}.none`)]))
    expect(stats.filter((stat) => stat?.kind === 'file')).toHaveLength(count)
    const folders = await backend.list('', { limit: count })
    expect(folders).toHaveLength(count / 2 + 1)
    const lists = await Promise.all(folders.map(({ name }) => backend.list(name, { limit: 1 })))
    expect(lists.every(({ length }) => length === 1)).toBe(true)
  }))

test('a file in the way of a folder leaves a memory backend as it was', async () => {
  const backend = memoryBackend({ 'a/b': '' })
  await expect(backend.write('a/b/c/d', bytes(''))).rejects.toMatchObject({ code: 'not-a-folder', path: 'a/b/c/d' })
  await expect(backend.write('', bytes(''))).rejects.toMatchObject({ code: 'not-a-file' })
  expect(await backend.list('', { limit: 9 })).toEqual([{ name: 'a', kind: 'folder' }])
  expect(await backend.list('a', { limit: 9 })).toEqual([{ name: 'b', kind: 'file' }])
})
