/** The tool `ls`: lists a folder. */

import { type Tool, tool } from '@meanwhile/core'
import { inputSchema, optional } from '../input-schema.ts'
import { type FileTools, folderPath } from './file-tools.ts'
import { treeKeys } from './resource-keys.ts'

const MAX_ENTRIES = 1_000

export function ls({ backend }: FileTools): Tool {
  return tool({
    name: 'ls',
    description: 'Lists a folder: sorted names; names of folders end with a slash.',
    input: inputSchema({ path: optional(folderPath, '') }),
    effect: 'read',
    reads: ({ path }) => treeKeys(path),
    async execute({ path }, { signal }) {
      const entries = await backend.list(path, { limit: MAX_ENTRIES + 1, signal })
      if (entries.length === 0) return '(the folder is empty)'
      const names = entries.map(({ name, kind }) => {
        if (kind === 'other') return `${name} (neither file nor folder)`
        return kind === 'folder' ? `${name}/` : name
      })
      const lines = names.slice(0, MAX_ENTRIES).sort()
      if (names.length > MAX_ENTRIES) lines.push(`(only ${MAX_ENTRIES} entries are shown; there are more)`)
      return lines.join('\n')
    },
  }) as Tool
}
