/** Puts the instructions of a project (`AGENTS.md`) into the requests. */

import { ConfigError, checkOptions, type Middleware, type Run, runLocal, type UserMessage } from '@meanwhile/core'
import { InstructionFiles } from './agents-md/instruction-files.ts'
import { checkCounts, checkPath } from './check-options.ts'
import { checkBackend, type FileBackend } from './file-backend.ts'

export interface AgentsMdOptions {
  /** Where the project is, such as `directoryBackend(root)`. */
  readonly backend: FileBackend
  /** The folder of the work: the files of each folder from the root down to it count. Default: the root alone. */
  readonly folder?: string
  /** Names of the files. Default `['AGENTS.md']`. */
  readonly files?: readonly string[]
  /** How deep a file may include others. Default 5. */
  readonly importDepth?: number
  /** Of all files together. Default 65,536. */
  readonly maxBytes?: number
}

const NAME = 'agents-md'

/**
 * A user message (origin `agents-md`) stands before the first user message of each request: the files of the outermost folder first.
 * The history never holds it, so that no summary can lose or double it. The files are read once per run, before its first model
 * call, and again on resume.
 *
 * A file that is not there, a circle, an include that is too deep and a cut at `maxBytes` are warnings; any other error of reading, and
 * an include that leads out of the root, ends the run.
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
      if (!found.has(name)) run.warn({ code: 'instructions-missing', message: `there is no ${name}` })
    }
    return all.text
  }

  return {
    name: NAME,
    async beforeAgent(_, run) {
      const text = await read(run)
      const content = `The instructions of this project; those that come later count more.\n\n${text}`
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
  }
}

/** The root, and each folder on the way. */
function foldersDownTo(path: string): readonly string[] {
  const names = path === '' ? [] : path.split('/')
  return ['', ...names.map((_, depth) => names.slice(0, depth + 1).join('/'))]
}
