/**
 * The middleware `offloadToolResults()`: stores large tool results in files; the model reads their beginning and the
 * path.
 */

import {
  AgentError,
  ConfigError,
  type ContentPart,
  checkOptions,
  type Middleware,
  messageOf,
  type Run,
  type ToolMessage,
  textOf,
} from '@meanwhile/core'
import { branded, errorMessage, shownValue } from '@meanwhile/core/calls'
import { checkPath } from './check-options.ts'
import { digest } from './digest.ts'
import { checkBackend, type FileBackend } from './file-backend.ts'
import { READ_FILE, readFile } from './filesystem/read-file.ts'
import { type MayBeMissing, namedTools } from './named-tools.ts'
import { storedNote } from './stored-note.ts'

/** The options of `offloadToolResults`. */
export interface OffloadToolResultsOptions extends MayBeMissing {
  /** Where the texts are stored. If the agent already has a `read_file` tool, it must read from the same place. */
  readonly backend: FileBackend
  /** A text with more bytes than this is stored. Default 50,000. */
  readonly maxBytes?: number
  /** How many bytes of the text the model reads in its place. Default 2,000. */
  readonly preview?: number
  /** The folder for the files. Default `tool-results`. */
  readonly folder?: string
  /** Names of tools whose results are not changed; an alias means its tool. */
  readonly exclude?: readonly string[]
}

/**
 * Stores the text of a tool result or tool error that is larger than `maxBytes`, and replaces it with its beginning,
 * its size and the path. `read_file` is added if it is missing, and its own results are not stored. If storing fails,
 * the model reads the beginning and a note, and the run has a warning `tool-result-not-stored`. A result that is the
 * run's answer (`returnDirect`) stays complete. Files in a result stay in it, and so does its `output` (which models do
 * not read), within the agent's `outputLimits`.
 *
 * Put it inside `filesystem`: `[filesystem({ backend }), offloadToolResults({ backend })]`.
 */
export function offloadToolResults(options: OffloadToolResultsOptions): Middleware {
  checkBackend(options?.backend)
  checkOptions('offloadToolResults', options, {
    backend: '',
    maxBytes: '',
    preview: '',
    folder: 'path',
    exclude: '',
    mayBeMissing: '',
  })
  const { backend, maxBytes = 50_000, preview = 2_000, exclude = [] } = options
  for (const [option, value] of Object.entries({ maxBytes, preview })) {
    if (!Number.isSafeInteger(value) || value < 0)
      throw new ConfigError(option, `must be a whole number of at least 0, not ${shownValue(value)}`)
  }
  const kept = namedTools('offloadToolResults', 'exclude', exclude, options)
  const folder = folderOf(options.folder ?? 'tool-results')
  const shown = Math.min(preview, maxBytes)
  const reader = readFile({ backend, maxBytes: 1_000_000 })

  async function offloaded(message: ToolMessage, run: Run): Promise<ToolMessage> {
    const text = textOf(message)
    // A code unit has at most three bytes, so most texts need not be encoded.
    if (text.length * 3 <= maxBytes) return message
    const bytes = new TextEncoder().encode(text)
    if (bytes.length <= maxBytes) return message
    const note = await stored(bytes, run)
    const start: ContentPart = { type: 'text', text: `${startOf(text, shown)}\n\n[${note}]` }
    return { ...message, content: [start, ...message.content.filter((part) => part.type !== 'text')] }
  }

  async function stored(bytes: Uint8Array, run: Run): Promise<string> {
    const size = `This result has ${bytes.length} bytes; at most ${shown} are shown.`
    try {
      const path = `${folder}/${(await digest(bytes)).slice(0, 32)}.txt`
      await backend.write(path, bytes, { signal: run.signal })
      return `${size} ${storedNote(path)}`
    } catch (error) {
      run.signal.throwIfAborted()
      const problem = messageOf(error).slice(0, 500)
      run.warn({ code: 'tool-result-not-stored', message: problem })
      return `${size} The rest is lost, because storing it failed: ${problem}`
    }
  }

  return branded('middleware', {
    name: 'offload-tool-results',
    ignoresInput: true,
    beforeAgent(setup) {
      if (setup.tools.some(({ name }) => name === READ_FILE)) return
      return { ...setup, tools: [...setup.tools, reader] }
    },
    ...kept.hook,
    async *wrapToolCall(call, next, run) {
      if (call.name === READ_FILE || kept.hasName(call.name, run)) return yield* next(call)
      try {
        const message = yield* next(call)
        return isAnswer(message, run) ? message : await offloaded(message, run)
      } catch (error) {
        // Thrown unchanged: errors that end the run, and errors with a short text, which can be retried.
        if (error instanceof AgentError || run.signal.aborted) throw error
        const failed = errorMessage(call, error)
        const message = await offloaded(failed, run)
        if (message === failed) throw error
        return message
      }
    },
  })
}

function folderOf(path: string): string {
  const plain = checkPath('folder', path)
  if (plain === '') throw new ConfigError('folder', 'must be below the root')
  return plain
}

/** Whether core will use it as the run's answer; core asks the tool in the same way. */
function isAnswer({ name, isError, output }: ToolMessage, run: Run): boolean {
  const direct = run.setup.tools.find((tool) => tool.name === name)?.returnDirect
  if (isError || direct === undefined) return false
  if (typeof direct === 'boolean') return direct
  try {
    return direct(output)
  } catch {
    return false
  }
}

const characters = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/**
 * Returns the beginning of a text in at most this many bytes, without splitting a character as readers see it
 * (including accents and joined signs).
 */
function startOf(text: string, maxBytes: number): string {
  const encoder = new TextEncoder()
  let end = 0
  let left = maxBytes
  // A code unit has at least one byte; the next ones show whether a character ends there.
  for (const { segment } of characters.segment(text.slice(0, maxBytes + 2))) {
    left -= encoder.encode(segment).length
    if (left < 0) break
    end += segment.length
  }
  return text.slice(0, end)
}
