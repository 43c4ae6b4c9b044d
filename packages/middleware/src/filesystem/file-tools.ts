/** What the file tools share: the backend, the maximum file size, and the files that the model has seen. */

import type { FileBackend } from '../file-backend.ts'
import { type Member, text } from '../input-schema.ts'
import type { SeenFiles } from './seen-files.ts'

export interface FileTools {
  readonly backend: FileBackend
  readonly maxBytes: number
  readonly seen: SeenFiles
}

export const filePath: Member<string> = text('The file, relative to the root, for example "src/index.ts".', {
  minLength: 1,
})
export const folderPath: Member<string> = text('The folder, relative to the root. Default: the root.')
