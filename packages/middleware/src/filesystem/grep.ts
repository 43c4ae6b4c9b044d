/** The tool `grep`: searches the contents of files, in time linear in their size, and without holding the event loop, whatever the pattern. */

import { type Tool, tool } from '@meanwhile/core'
import { RE2JS } from 're2js'
import { FileError } from '../file-error.ts'
import { plainPath } from '../file-path.ts'
import { flag, inputSchema, oneOf, optional, text } from '../input-schema.ts'
import { boundedPattern } from './bounded-pattern.ts'
import { textOfBytes } from './file-content.ts'
import type { FileTools } from './file-tools.ts'
import { pathPattern } from './glob-pattern.ts'
import { goOn } from './go-on.ts'
import { type Hit, searchLines } from './line-search.ts'
import { treeKeys } from './resource-keys.ts'
import { INCOMPLETE, walk } from './walk.ts'

const MAX_RESULTS = 1_000
const MAX_SEARCHED = 50_000_000
const MAX_LINE = 500
const OUTPUTS = ['files', 'content', 'count'] as const

type Output = (typeof OUTPUTS)[number]

export function grep({ backend, maxBytes }: FileTools): Tool {
  return tool({
    name: 'grep',
    description:
      'Searches the lines of text files for a regular expression (RE2: no look-around, no back-references). The folders .git and node_modules are searched only if path leads into them.',
    input: inputSchema({
      pattern: text('The regular expression.', { minLength: 1 }),
      path: optional(text('The file or folder to search, relative to the root. Default: the root.'), ''),
      glob: optional(
        text('Search only files with a matching path or, if the pattern has no slash, a matching name: "*.ts".', {
          minLength: 1,
        }),
      ),
      ignoreCase: optional(flag('Whether to ignore the case of letters.'), false),
      output: optional(
        oneOf(
          OUTPUTS,
          'files: the paths; content: path, line number and text of each matching line; count: matching lines per file.',
        ),
        'files',
      ),
    }),
    effect: 'read',
    reads: ({ path }) => treeKeys(path),
    async execute({ pattern, path, glob, ignoreCase, output }, { signal }) {
      const wanted = boundedPattern(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
      const isSearched = glob === undefined ? () => true : pathPattern(glob)
      const { files, complete } = await walk(backend, path, signal)
      const found: string[] = []
      const notes = new Set(complete ? [] : [INCOMPLETE])
      let left = MAX_SEARCHED
      for (const file of files) {
        const turn = goOn(signal)
        if (turn) await turn
        if (!isSearched(file)) continue
        if (left < 0 || found.length > MAX_RESULTS) break
        try {
          const { bytes } = await backend.read(file, { maxBytes, signal })
          left -= bytes.length
          const { hits, mayMiss } = await searchLines(textOfBytes(bytes) ?? '', wanted, signal)
          if (mayMiss) notes.add('(long lines were searched in pieces; a match that spans two pieces may be missing)')
          if (hits.length > 0) found.push(...told(file, hits, output))
        } catch (error) {
          // Skipped, unless it was the only requested file.
          if (!(error instanceof FileError) || file === plainPath(path)) throw error
          notes.add('(files that are too large or cannot be read were skipped)')
        }
      }
      if (left < 0 || found.length > MAX_RESULTS)
        notes.add('(the search or its output is incomplete; narrow the pattern or the path)')
      if (found.length === 0) found.push('(nothing matches)')
      return [...found.slice(0, MAX_RESULTS), ...notes].join('\n')
    },
  }) as Tool
}

function told(file: string, hits: readonly Hit[], output: Output): string[] {
  if (output === 'files') return [file]
  if (output === 'count') return [`${file}:${hits.length}`]
  return hits.slice(0, MAX_RESULTS + 1).map(({ line, number }) => {
    const text = line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)} …` : line
    return `${file}:${number}:${text}`
  })
}
