/** The middleware `filesystem()`: file tools for an agent, on a backend of your choice. */

import { ConfigError, checkOptions, type Middleware, messageOf, type Tool } from '@meanwhile/core'
import { branded, nearestName, shownValue } from '@meanwhile/core/calls'
import { checkToolNames } from './check-options.ts'
import { checkBackend, type FileBackend } from './file-backend.ts'
import { editFile } from './filesystem/edit-file.ts'
import type { FileTools } from './filesystem/file-tools.ts'
import { glob } from './filesystem/glob.ts'
import { grep } from './filesystem/grep.ts'
import { guardedBackend } from './filesystem/guarded-backend.ts'
import { ls } from './filesystem/ls.ts'
import { pathRule } from './filesystem/path-rule.ts'
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
  /**
   * Glob patterns of files that `write_file` and `edit_file` refuse, however the path is spelled; a pattern without a
   * slash matches names in any folder, and a folder stands for all that it contains. Default: what other programs, or
   * the next run, obey ({@link PROTECTED_FILES}). `[]` for none.
   */
  readonly protect?: readonly string[]
  /** Glob patterns, as in `protect`, of files that no tool reads, lists, searches or writes. Default: none. */
  readonly hide?: readonly string[]
  /** The tools to add. Default: all. */
  readonly tools?: readonly FileToolName[]
}

/** What `protect` contains by default: the files of Git, its hooks, editors, instructions and skills. */
export const PROTECTED_FILES: readonly string[] = Object.freeze([
  '**/.git',
  '**/.git/**',
  '**/.husky/**',
  '**/.vscode/**',
  '**/.idea/**',
  '**/AGENTS.md',
  '**/skills/**',
])

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

/** @throws {ConfigError} An option is not a list of valid patterns; the error names it. */
function checkPatterns(options: Readonly<Record<string, readonly string[]>>): void {
  for (const [option, patterns] of Object.entries(options)) {
    if (!Array.isArray(patterns) || patterns.some((pattern) => typeof pattern !== 'string' || pattern === ''))
      throw new ConfigError(option, 'must be a list of glob patterns')
    try {
      pathRule(patterns)
    } catch (cause) {
      throw Object.assign(new ConfigError(option, messageOf(cause)), { cause })
    }
  }
}

const WRITING: readonly FileToolName[] = ['write_file', 'edit_file']

/**
 * Adds file tools to the agent. Paths are relative to the backend's root and cannot leave it. Reading tools have the
 * effect `read`, writing tools `external`. A file can be changed only if the model has read its current version in this
 * run. Every failure is an error result.
 *
 * @throws {ConfigError} `backend` is missing, `maxBytes` is not a whole number, `tools` contains an unknown name, or
 * `protect` or `hide` an invalid pattern.
 */
export function filesystem(options: FilesystemOptions): Middleware {
  checkBackend(options?.backend)
  checkOptions('filesystem', options, { backend: '', readOnly: '', maxBytes: '', protect: '', hide: '', tools: '' })
  const { readOnly = false, maxBytes = 1_000_000, protect = PROTECTED_FILES, hide = [] } = options
  if (!Number.isSafeInteger(maxBytes) || maxBytes < 0)
    throw new ConfigError('maxBytes', `must be a whole number of at least 0, not ${shownValue(maxBytes)}`)
  const names = options.tools ?? (Object.keys(MAKERS) as FileToolName[])
  checkToolNames('tools', names)
  checkFileTools(names)
  checkPatterns({ protect, hide })
  const backend = guardedBackend(options.backend, { protect, hide })
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
