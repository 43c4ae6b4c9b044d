/** The tool `edit_file`: replaces a text in a file. */

import { type Tool, tool } from '@meanwhile/core'
import { FileError, hasChanged, tooLarge } from '../file-error.ts'
import { plainPath } from '../file-path.ts'
import { flag, inputSchema, optional, text } from '../input-schema.ts'
import { textOfBytes } from './file-content.ts'
import { type FileTools, filePath } from './file-tools.ts'
import { changeKeys } from './resource-keys.ts'
import { seenVersion } from './seen-files.ts'

export function editFile({ backend, maxBytes, seen }: FileTools): Tool {
  return tool({
    name: 'edit_file',
    description:
      'Replaces a text in a file that you have read in an earlier step. The text must occur exactly once, unless replaceAll is set.',
    input: inputSchema({
      path: filePath,
      oldText: text('The exact current text, without line numbers.', { minLength: 1 }),
      newText: text('The new text.'),
      replaceAll: optional(flag('Whether to replace every occurrence.'), false),
    }),
    effect: 'external',
    writes: ({ path }) => changeKeys(path),
    async execute({ path, oldText, newText, replaceAll }, { run, signal }) {
      const plain = plainPath(path)
      if (oldText === newText) throw new FileError('failed', plain, 'oldText and newText are the same')
      const replaces = seenVersion(seen, run, plain)
      const { bytes, version } = await backend.read(plain, { maxBytes, signal })
      if (version !== replaces) throw hasChanged(plain, replaces)
      const before = textOfBytes(bytes)
      if (before === undefined) throw new FileError('failed', plain, 'is not UTF-8 text')
      const pieces = before.split(oldText)
      const count = pieces.length - 1
      if (count === 0) throw new FileError('failed', plain, 'does not contain oldText')
      if (!replaceAll && !isOnce(before, oldText))
        throw new FileError(
          'failed',
          plain,
          'contains oldText more than once; include more of the surrounding text, or set replaceAll',
        )
      const after = new TextEncoder().encode(pieces.join(newText))
      if (after.length > maxBytes) throw tooLarge(plain, after.length, maxBytes)
      seen.add(run, { path: plain, version: await backend.write(plain, after, { replaces, signal }) })
      return `Edited ${plain}: ${count} ${count === 1 ? 'replacement' : 'replacements'}.`
    },
  }) as Tool
}

/** Occurrences may overlap: "aa" is in "aaa" twice. */
function isOnce(text: string, part: string): boolean {
  return text.indexOf(part, text.indexOf(part) + 1) === -1
}
