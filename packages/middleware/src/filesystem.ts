/** The middleware `filesystem()`: file tools for an agent, on a backend of your choice. */

import { ConfigError, checkOptions, type Middleware, type Tool } from '@meanwhile/core'
import { branded, nearestName } from '@meanwhile/core/calls'
import { checkToolNames } from './check-options.ts'
import { checkBackend, type FileBackend } from './file-backend.ts'
import { editFile } from './filesystem/edit-file.ts'
import type { FileTools } from './filesystem/file-tools.ts'
import { glob } from './filesystem/glob.ts'
import { grep } from './filesystem/grep.ts'
import { ls } from './filesystem/ls.ts'
import { readFile } from './filesystem/read-file.ts'
import { seenFiles } from './filesystem/seen-files.ts'
import { writeFile } from './filesystem/write-file.ts'

/** The tools of `filesystem`. */
export type FileToolName = 'ls' | 'read_file' | 'write_file' | 'edit_file' | 'glob' | 'grep'

/** The options of `filesystem`. */
export interface FilesystemOptions {
  /** Where the files are: `directoryBackend(root)` or your own. */
  readonly backend: FileBackend
  /** Omits the tools that change files. Default false. */
  readonly readOnly?: boolean
  /** The maximum size of a file that is read, searched or written, in bytes. Default 1,000,000. */
  readonly maxBytes?: number
  /** The tools to add. Default: all. */
  readonly tools?: readonly FileToolName[]
}

const MAKERS: Readonly<Record<FileToolName, (tools: FileTools) => Tool>> = {
  ls,
  read_file: readFile,
  write_file: writeFile,
  edit_file: editFile,
  glob,
  grep,
}

/** @throws {ConfigError} One of them is not a file tool. */
function checkFileTools(names: readonly string[]): void {
  const unknown = names.find((name) => !Object.hasOwn(MAKERS, name))
  if (unknown === undefined) return
  const nearest = nearestName(unknown, Object.fromEntries(Object.keys(MAKERS).map((name) => [name, ''])))
  const hint = nearest ? `did you mean ${nearest}?` : `there are ${Object.keys(MAKERS).join(', ')}`
  throw new ConfigError('tools', `${unknown} is not the name of a file tool; ${hint}`)
}

const WRITING: readonly FileToolName[] = ['write_file', 'edit_file']

/**
 * Adds file tools to the agent. Paths are relative to the backend's root and cannot leave it. Reading tools have the
 * effect `read`, writing tools `external`. A file can be changed only if the model has read its current version in this
 * run. Every failure is an error result.
 *
 * @throws {ConfigError} `backend` is missing, `maxBytes` is not a whole number, or `tools` contains an unknown name.
 */
export function filesystem(options: FilesystemOptions): Middleware {
  checkBackend(options?.backend)
  checkOptions('filesystem', options, { backend: '', readOnly: '', maxBytes: '', tools: '' })
  const { backend, readOnly = false, maxBytes = 1_000_000 } = options
  if (!Number.isSafeInteger(maxBytes) || maxBytes < 0)
    throw new ConfigError('maxBytes', `must be a whole number of at least 0, not ${maxBytes}`)
  const names = options.tools ?? (Object.keys(MAKERS) as FileToolName[])
  checkToolNames('tools', names)
  checkFileTools(names)
  const seen = seenFiles()
  const tools = names
    .filter((name) => !(readOnly && WRITING.includes(name)))
    .map((name) => MAKERS[name]({ backend, maxBytes, seen }))
  return branded('middleware', {
    name: 'filesystem',
    beforeAgent: (setup) => ({ ...setup, tools: [...setup.tools, ...tools] }),
    beforeModel: (state, run) => seen.addResults(run, state),
  })
}
