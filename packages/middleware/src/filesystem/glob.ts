/** The tool `glob`: finds files by name, newest first. */

import { type Tool, tool } from '@meanwhile/core'
import { plainPath } from '../file-path.ts'
import { inputSchema, optional, text } from '../input-schema.ts'
import { type FileTools, folderPath } from './file-tools.ts'
import { globPattern } from './glob-pattern.ts'
import { goOn } from './go-on.ts'
import { treeKeys } from './resource-keys.ts'
import { INCOMPLETE, walk } from './walk.ts'

const MAX_RESULTS = 1_000

export function glob({ backend }: FileTools): Tool {
  return tool({
    name: 'glob',
    description:
      'Finds files by name, newest first. The folders .git and node_modules are searched only if path leads into them.',
    input: inputSchema({
      pattern: text('The pattern for paths below the folder, for example "**/*.ts" or "src/{a,b}/*.md".', {
        minLength: 1,
      }),
      path: optional(folderPath, ''),
    }),
    effect: 'read',
    reads: ({ path }) => treeKeys(path),
    async execute({ pattern, path }, { signal }) {
      const matches = globPattern(pattern)
      const { files, complete } = await walk(backend, path, signal)
      const start = plainPath(path)
      const below = start === '' ? 0 : start.length + 1
      const found: { readonly path: string; readonly modified: number }[] = []
      for (const file of files) {
        const turn = goOn(signal)
        if (turn) await turn
        if (!matches(file.slice(below))) continue
        const stat = await backend.stat(file, { signal })
        if (stat) found.push({ path: file, modified: stat.modified })
      }
      // Sorting is stable, and the files are in the order of their paths.
      found.sort((a, b) => b.modified - a.modified)
      const lines = found.slice(0, MAX_RESULTS).map((file) => file.path)
      if (found.length === 0) lines.push('(no file matches)')
      if (found.length > MAX_RESULTS) lines.push(`(the newest ${MAX_RESULTS} of ${found.length})`)
      if (!complete) lines.push(INCOMPLETE)
      return lines.join('\n')
    },
  }) as Tool
}
