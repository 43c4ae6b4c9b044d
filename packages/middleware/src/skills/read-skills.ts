/** Reads the skills in folders: each is a folder with a `SKILL.md`. */

import { messageOf, type Run } from '@meanwhile/core'
import type { FileBackend } from '../file-backend.ts'
import { FileError } from '../file-error.ts'
import { textOfBytes } from '../filesystem/file-content.ts'
import { frontMatter } from './front-matter.ts'

/** A skill: instructions in a file, which the model loads when it needs them. */
export interface Skill {
  /** The name in the front matter. */
  readonly name: string
  /** When to use it, from the front matter. */
  readonly description: string
  /** The text after the front matter, unchanged. */
  readonly body: string
  /** The path of its file in the backend. */
  readonly path: string
  /** Whether its own agent runs it, instead of the model reading it. */
  readonly fork: boolean
}

const FILE = 'SKILL.md'
const MAX_BYTES = 1_000_000
const MAX_SKILLS = 1_000
const MAX_DESCRIPTION = 1_024

/**
 * Ordered by folder, then by name. A file that is not a valid skill, and the second skill with one name, are skipped
 * with a warning.
 */
export async function readSkills(
  backend: FileBackend,
  folders: readonly string[],
  run: Run,
): Promise<ReadonlyMap<string, Skill>> {
  const skills = new Map<string, Skill>()
  const skip = (path: string, problem: string) =>
    run.warn({ code: 'skill-skipped', message: `${path} was skipped: ${problem}` })
  for (const folder of folders) {
    for (const path of await skillFiles(backend, folder, run, skip)) {
      const skill = await readSkill(backend, path, run.signal, skip)
      const first = skill && skills.get(skill.name)
      if (first) skip(path, `a skill with the name ${first.name} is in ${first.path}`)
      else if (skill) skills.set(skill.name, skill)
    }
  }
  return skills
}

type Skip = (path: string, problem: string) => void

async function skillFiles(backend: FileBackend, folder: string, run: Run, skip: Skip): Promise<readonly string[]> {
  try {
    const entries = await backend.list(folder, { limit: MAX_SKILLS, signal: run.signal })
    const names = entries.flatMap(({ name, kind }) => (kind === 'folder' ? [name] : []))
    return names.sort().map((name) => [folder, name, FILE].filter((part) => part !== '').join('/'))
  } catch (error) {
    run.signal.throwIfAborted()
    skip(folder, messageOf(error))
    return []
  }
}

/** A folder without the file is not a skill. That is not an error. */
async function readSkill(
  backend: FileBackend,
  path: string,
  signal: AbortSignal,
  skip: Skip,
): Promise<Skill | undefined> {
  try {
    const { bytes } = await backend.read(path, { maxBytes: MAX_BYTES, signal })
    const text = textOfBytes(bytes)
    if (text === undefined) throw new SyntaxError('it is not UTF-8 text')
    return await skillOf(path, text.replace(/^\ufeff/, ''))
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof FileError && error.code === 'not-found')) skip(path, messageOf(error))
    return undefined
  }
}

async function skillOf(path: string, text: string): Promise<Skill> {
  const { fields, body } = await frontMatter(text)
  const name = fields.get('name') ?? ''
  const description = (fields.get('description') ?? '').replace(/\s+/g, ' ').trim()
  const context = fields.get('context')
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name))
    throw new SyntaxError('its name is missing, or does not match [A-Za-z0-9_-]{1,64}')
  if (description === '') throw new SyntaxError('its description is missing')
  if (description.length > MAX_DESCRIPTION)
    throw new SyntaxError(`its description has more than ${MAX_DESCRIPTION} characters`)
  if (context !== undefined && context !== 'fork')
    throw new SyntaxError(`its context is ${context}, but only fork is supported`)
  return Object.freeze({ name, description, body, path, fork: context === 'fork' })
}
