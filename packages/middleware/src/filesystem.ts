/** File tools for an agent, over a backend of the user's choice. */

import { ConfigError, checkOptions, type Middleware, type Tool } from '@meanwhile/core'
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

export type FileToolName = 'ls' | 'read_file' | 'write_file' | 'edit_file' | 'glob' | 'grep'

export interface FilesystemOptions {
  readonly backend: FileBackend
  /** Leaves out what changes files. Default false. */
  readonly readOnly?: boolean
  /** The largest file, in bytes, that is read, searched or written. Default 1,000,000. */
  readonly maxBytes?: number
  /** Which tools there are. Default: all. */
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

const WRITING: readonly FileToolName[] = ['write_file', 'edit_file']

/**
 * Adds file tools to the agent. Paths are relative to the backend's root, and none leads out of it. What reads has the effect
 * `read`, what writes `external`. A file is changed only in the version the model has read in this run. Whatever goes
 * wrong with a file is an error result.
 *
 * @throws {ConfigError} `backend` is missing, `maxBytes` is no whole number, or `tools` names one there is not.
 */
export function filesystem(options: FilesystemOptions): Middleware {
  checkBackend(options?.backend)
  checkOptions('filesystem', options, { backend: '', readOnly: '', maxBytes: '', tools: '' })
  const { backend, readOnly = false, maxBytes = 1_000_000 } = options
  if (!Number.isSafeInteger(maxBytes) || maxBytes < 0)
    throw new ConfigError('maxBytes', `must be a whole number from 0 on, not ${maxBytes}`)
  const names = options.tools ?? (Object.keys(MAKERS) as FileToolName[])
  checkToolNames('tools', names)
  for (const name of names) if (!Object.hasOwn(MAKERS, name)) throw new ConfigError('tools', `there is no ${name}`)
  const seen = seenFiles()
  const tools = names
    .filter((name) => !(readOnly && WRITING.includes(name)))
    .map((name) => MAKERS[name]({ backend, maxBytes, seen }))
  return {
    name: 'filesystem',
    beforeAgent: (setup) => ({ ...setup, tools: [...setup.tools, ...tools] }),
    beforeModel: (state, run) => seen.addResults(run, state),
  }
}
