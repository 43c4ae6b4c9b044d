/** The tool `write_file`: writes a whole file, new or in place of one the model has seen. */

import { type Tool, tool } from '@meanwhile/core'
import { tooLarge } from '../file-error.ts'
import { plainPath } from '../file-path.ts'
import { inputSchema, text } from '../input-schema.ts'
import { type FileTools, filePath } from './file-tools.ts'
import { changeKeys } from './resource-keys.ts'
import { seenVersion } from './seen-files.ts'

export function writeFile({ backend, maxBytes, seen }: FileTools): Tool {
  return tool({
    name: 'write_file',
    description:
      'Writes a whole file and creates missing folders. If the file exists, you must have read it in an earlier step.',
    input: inputSchema({ path: filePath, content: text('The whole new content.') }),
    effect: 'external',
    writes: ({ path }) => changeKeys(path),
    async execute({ path, content }, { run, signal }) {
      const plain = plainPath(path)
      const bytes = new TextEncoder().encode(content)
      if (bytes.length > maxBytes) throw tooLarge(plain, bytes.length, maxBytes)
      const replaces = (await backend.stat(plain, { signal })) ? seenVersion(seen, run, plain) : null
      const version = await backend.write(plain, bytes, { replaces, signal })
      seen.add(run, { path: plain, version })
      return `${replaces === null ? 'Created' : 'Replaced'} ${plain} (${bytes.length} bytes).`
    },
  }) as Tool
}
