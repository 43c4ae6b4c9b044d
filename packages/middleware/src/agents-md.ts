/** The middleware `agentsMd()`: adds the instructions of a project (`AGENTS.md`) to the model requests. */

import { ConfigError, checkOptions, type Middleware, type Run, runLocal, type UserMessage } from '@meanwhile/core'
import { branded } from '@meanwhile/core/calls'
import { InstructionFiles } from './agents-md/instruction-files.ts'
import { checkCounts, checkPath } from './check-options.ts'
import { checkBackend, type FileBackend } from './file-backend.ts'

/** The options of `agentsMd`. */
export interface AgentsMdOptions {
  /** The files of the project, for example `directoryBackend(root)`. */
  readonly backend: FileBackend
  /** The working folder: the files of each folder from the root down to this one are used. Default: only the root's. */
  readonly folder?: string
  /** Names of the files. Default `['AGENTS.md']`. */
  readonly files?: readonly string[]
  /** The maximum depth of includes. Default 5. */
  readonly importDepth?: number
  /** The maximum size of all files together, in bytes. Default 65,536. */
  readonly maxBytes?: number
}

const NAME = 'agents-md'

/**
 * Adds a user message (origin `agents-md`) before the first user message of each request. It contains the instruction
 * files, those of the outermost folder first. The history never contains the message, so no summary can lose or repeat
 * it. The files are read once per run, before its first model call, and again on resume.
 *
 * The run warns if a file is missing, if includes form a cycle or are too deep, and if the text was cut at `maxBytes`.
 * Any other read error, and an include outside the root, ends the run.
 */
export function agentsMd(options: AgentsMdOptions): Middleware {
  checkBackend(options?.backend)
  checkOptions('agentsMd', options, { backend: '', folder: '', files: '', importDepth: '', maxBytes: '' })
  const { backend, files = ['AGENTS.md'], importDepth = 5, maxBytes = 65_536 } = options
  checkCounts({ importDepth, maxBytes })
  if (!Array.isArray(files)) throw new ConfigError('files', 'must be a list of file names')
  const names = files.map((name: string) => checkPath('files', name))
  if (names.includes('')) throw new ConfigError('files', 'must not name a folder')
  const folders = foldersDownTo(checkPath('folder', options.folder ?? ''))
  const instructions = runLocal((): { message?: UserMessage } => ({}))

  async function read(run: Run): Promise<string> {
    const all = new InstructionFiles(backend, { importDepth, maxBytes }, run)
    const found = new Set<string>()
    for (const folder of folders) {
      for (const name of names) if (await all.add(folder === '' ? name : `${folder}/${name}`)) found.add(name)
    }
    for (const name of names) {
      if (!found.has(name)) run.warn({ code: 'instructions-missing', message: `${name} was not found` })
    }
    return all.text
  }

  return branded('middleware', {
    name: NAME,
    async beforeAgent(_, run) {
      const text = await read(run)
      const content = `The instructions of this project; later ones take precedence.\n\n${text}`
      if (text !== '') instructions(run).message = { role: 'user', content, origin: NAME }
    },
    wrapModel(request, next, run) {
      const { message } = instructions(run)
      if (!message) return next(request)
      const { messages } = request
      const place = Math.max(
        0,
        messages.findIndex(({ role }) => role === 'user'),
      )
      return next({ ...request, messages: messages.toSpliced(place, 0, message) })
    },
  })
}

/** The root, and each folder on the path. */
function foldersDownTo(path: string): readonly string[] {
  const names = path === '' ? [] : path.split('/')
  return ['', ...names.map((_, depth) => names.slice(0, depth + 1).join('/'))]
}
