/** Stores checkpoints as JSON files in a folder, for the processes of one machine. Each checkpoint has its own subfolder. */

import { createHash, randomBytes } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { CheckpointConflictError, CheckpointCorruptError, type CheckpointStore, ConfigError } from '@meanwhile/core'
import { readCheckpoint, writtenCheckpoint } from '@meanwhile/core/calls'

/**
 * Returns a store in this folder. The folder is created at the first save, with access for this user only. A new version is written and synced to a
 * second file, which is then renamed over the old one, so that a kill or a loss of power leaves either version. If several processes replace one
 * revision, one of them succeeds; there is no lock that a killed process could leave (docs/decisions/0008). Requires the atomic renames of a local
 * POSIX file system.
 * @throws {ConfigError} The directory is not a path.
 */
export function fileStore(directory: string): CheckpointStore {
  if (typeof directory !== 'string') throw new ConfigError('directory', 'must be the path of a folder')
  const root = resolve(directory) // Absolute, so that a later `chdir` does not change it.
  return {
    async load(id) {
      const folder = join(root, folderName(id))
      let missing: string | undefined
      for (;;) {
        const version = await current(id, folder)
        if (!version) return undefined
        const bytes = await ifThere(readFile(join(folder, version.name, `${version.name}.json`)))
        if (bytes) return readCheckpoint(id, textOf(id, bytes))
        // Another process may have saved meanwhile, so that there is another version; otherwise its file is missing.
        if (version.name === missing) throw new CheckpointCorruptError(id, 'its file is missing')
        missing = version.name
      }
    },

    async save(id, checkpoint, expected) {
      const text = writtenCheckpoint(checkpoint, expected)
      const folder = join(root, folderName(id))
      const old = await current(id, folder)
      if ((old?.revision ?? 0) !== expected) throw new CheckpointConflictError(id, expected, old?.revision)
      const name = `${checkpoint.revision}-${unique()}`
      const won = old ? await replace(folder, old.name, name, text) : await create(root, folder, name, text)
      if (!won) throw new CheckpointConflictError(id, expected, (await current(id, folder))?.revision)
    },

    async delete(id) {
      const folder = join(root, folderName(id))
      // Repeated if another process has saved meanwhile: then the discarded version was an older one.
      for (let found = await versions(folder); found.length > 0; found = await versions(folder)) {
        for (const { name } of found) await discard(root, folder, name)
      }
    },

    async prune({ olderThan }) {
      let pruned = 0
      const left = Math.min(Number(olderThan), Date.now() - ABANDONED)
      for (const entry of (await ifThere(readdir(root))) ?? []) {
        const path = join(root, entry)
        if (Number(TEMPORARY.exec(entry)?.[1]) < left) await remove(root, path)
        if (!FOLDER.test(entry)) continue
        const found = await versions(path)
        if (found.length === 0) await removeEmpty(path)
        for (const { name, savedAt } of found) {
          if (savedAt < Number(olderThan) && (await discard(root, path, name))) pruned++
        }
      }
      return pruned
    },
  }
}

/** One save of one id. The folder and the file in it have this name, which is unique. */
interface Version {
  readonly name: string
  readonly revision: number
  readonly savedAt: number
}

const FOLDER = /^[a-z0-9_-]*-[0-9a-f]{40}$/
const VERSION = /^(\d+)-(\d+)-[0-9a-f]{16}$/
/** The time in milliseconds after which an unfinished write or removal belongs to a killed process. */
const ABANDONED = 60_000
const TEMPORARY = /^\.tmp-(\d+)-[0-9a-f]{16}$/

/**
 * Returns the first 40 characters of the id, so that people can find it, and a hash, so that two ids never share a folder. The hash is of the id as
 * JSON, because half a surrogate pair has no bytes in UTF-8.
 */
function folderName(id: string): string {
  const readable = id
    .slice(0, 40)
    .toLowerCase()
    .replace(/[^a-z0-9-]/g, '_')
  return `${readable}-${createHash('sha256').update(JSON.stringify(id)).digest('hex').slice(0, 40)}`
}

function unique(): string {
  return `${Date.now()}-${randomBytes(8).toString('hex')}`
}

/** Returns the version in the folder, or none. During a rename a listing may show both names or neither, so it is read again. */
async function versions(folder: string): Promise<readonly Version[]> {
  let found: readonly Version[] = []
  for (let look = 0; look < 5 && found.length !== 1; look++) {
    const names = await ifThere(readdir(folder))
    if (!names) return []
    found = names.flatMap(versionOf)
  }
  return found
}

function versionOf(name: string): readonly Version[] {
  const match = VERSION.exec(name)
  return match ? [{ name, revision: Number(match[1]), savedAt: Number(match[2]) }] : []
}

async function current(id: string, folder: string): Promise<Version | undefined> {
  const [version, another] = await versions(folder)
  if (another) throw new CheckpointCorruptError(id, 'there are several versions of it')
  return version
}

function textOf(id: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new CheckpointCorruptError(id, 'what is stored is not JSON', { cause })
  }
}

/** Stores the first version. Renaming a folder over another one only succeeds if the other one is empty: if nothing is stored. */
async function create(root: string, folder: string, name: string, text: string): Promise<boolean> {
  const made = await mkdir(root, { recursive: true, mode: 0o700 })
  for (let path = root; made !== undefined && path.length >= made.length; path = dirname(path)) {
    await sync(dirname(path))
  }
  const beside = join(root, `.tmp-${unique()}`)
  try {
    await mkdir(join(beside, name), { recursive: true, mode: 0o700 })
    await writeFile(join(beside, name, `${name}.json`), text, { flag: 'wx', flush: true, mode: 0o600 })
    await sync(join(beside, name))
    await sync(beside)
    await rename(beside, folder)
  } catch (error) {
    await rm(beside, { recursive: true, force: true })
    if (hasCode(error, 'ENOTEMPTY', 'EEXIST')) return false
    throw error
  }
  await sync(root)
  return true
}

/** Stores a further version, written into the folder of the old one. Only one process can rename that folder: it fails if the old version was replaced. */
async function replace(folder: string, old: string, name: string, text: string): Promise<boolean> {
  const file = join(folder, old, `${name}.json`)
  try {
    await writeFile(file, text, { flag: 'wx', flush: true, mode: 0o600 })
    await sync(join(folder, old))
    await rename(join(folder, old), join(folder, name))
  } catch (error) {
    await rm(file, { force: true })
    if (isMissing(error)) return false
    throw error
  }
  await ifThere(sync(folder))
  await sweep(folder, name)
  return true
}

/** Removes files that other processes left in the folder of a version. A newer file is being saved right now, and stays. */
async function sweep(folder: string, name: string): Promise<void> {
  const kept = Number.parseInt(name, 10)
  try {
    for (const file of await readdir(join(folder, name))) {
      if (file !== `${name}.json` && Number.parseInt(file, 10) <= kept) {
        await rm(join(folder, name, file), { force: true })
      }
    }
  } catch {
    // The save stands. What is left goes with the next one, or with the checkpoint.
  }
}

/** Deletes this version. Returns whether it existed. */
async function discard(root: string, folder: string, name: string): Promise<boolean> {
  const removed = await remove(root, join(folder, name))
  if (removed) await removeEmpty(folder)
  return removed
}

/** Moves the folder away before removing it, so that it disappears as a whole, and is removed once. */
async function remove(root: string, path: string): Promise<boolean> {
  const away = join(root, `.tmp-${unique()}`)
  if (!(await ifThere(rename(path, away).then(() => true)))) return false
  await sync(root)
  await rm(away, { recursive: true, force: true })
  return true
}

async function removeEmpty(folder: string): Promise<void> {
  try {
    await rmdir(folder)
  } catch (error) {
    // Not empty: another process has stored a new version.
    if (!isMissing(error) && !hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw error
  }
}

/** Syncs the names in a folder to the disk. Windows cannot open a folder. */
async function sync(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function ifThere<Value>(work: Promise<Value>): Promise<Value | undefined> {
  try {
    return await work
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return hasCode(error, 'ENOENT', 'ENOTDIR')
}

function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}
