/** The tool `read_file`: reads text with line numbers, and images and PDFs as files. */

import { type ContentPart, type Tool, tool } from '@meanwhile/core'
import type { FileBackend } from '../file-backend.ts'
import { FileError } from '../file-error.ts'
import { plainPath } from '../file-path.ts'
import { inputSchema, optional, whole } from '../input-schema.ts'
import { base64Of, linesOf, mediaTypeOf, textOfBytes } from './file-content.ts'
import { filePath } from './file-tools.ts'
import { fileKey } from './resource-keys.ts'
import type { SeenFile } from './seen-files.ts'

export const READ_FILE = 'read_file'

export interface ReadFileOptions {
  readonly backend: FileBackend
  readonly maxBytes: number
}

export function readFile({ backend, maxBytes }: ReadFileOptions): Tool {
  return tool({
    name: READ_FILE,
    description:
      'Reads a file. Each line of text is preceded by its line number and a tab, which are not part of the file. Images and PDFs are returned as files.',
    input: inputSchema({
      path: filePath,
      offset: optional(whole('The first line to read.', { minimum: 1 }), 1),
      limit: optional(whole('The maximum number of lines to read.', { minimum: 1 }), 2_000),
    }),
    effect: 'read',
    reads: ({ path }) => fileKey(path),
    async execute({ path, offset, limit }, { signal }): Promise<FileRead> {
      const plain = plainPath(path)
      const { bytes, version } = await backend.read(plain, { maxBytes, signal })
      const mediaType = mediaTypeOf(bytes)
      const text = mediaType ? undefined : textOfBytes(bytes)
      if (text !== undefined) return new FileRead(plain, version, [numbered(plain, text, offset, limit)])
      if (!mediaType) throw new FileError('failed', plain, 'is neither UTF-8 text nor an image or PDF')
      const filename = plain.slice(plain.lastIndexOf('/') + 1)
      return new FileRead(plain, version, [
        { type: 'text', text: `${plain} (${mediaType}, ${bytes.length} bytes)` },
        { type: 'file', mediaType, data: base64Of(bytes), filename },
      ])
    },
    toContent: (read) => read.content(),
  }) as Tool
}

/**
 * The result of a read. The model gets the content; the output, as JSON, is the file's path and version for the caller
 * and later steps.
 */
class FileRead implements SeenFile {
  readonly path: string
  readonly version: string
  readonly #content: readonly ContentPart[]

  constructor(path: string, version: string, content: readonly ContentPart[]) {
    this.path = path
    this.version = version
    this.#content = content
  }

  content(): readonly ContentPart[] {
    return this.#content
  }
}

function numbered(path: string, text: string, offset: number, limit: number): ContentPart {
  const lines = linesOf(text)
  if (lines.length === 0) return { type: 'text', text: '(the file is empty)' }
  if (offset > lines.length) throw new FileError('failed', path, `has only ${lines.length} lines; offset is ${offset}`)
  const shown = lines.slice(offset - 1, offset - 1 + limit)
  const rows = shown.map((line, index) => `${String(offset + index).padStart(6)}\t${line}`)
  const next = offset + shown.length
  if (next <= lines.length)
    rows.push(`(lines ${offset} to ${next - 1} of ${lines.length}; use offset ${next} to continue)`)
  return { type: 'text', text: rows.join('\n') }
}
