/** What the model reads of a tool result that lies in a file: written by one middleware, kept by another. */

import { type ToolMessage, textOf } from '@meanwhile/core'
import { READ_FILE } from './filesystem/read-file.ts'

export function storedNote(path: string): string {
  return `All of it is in ${path}, which ${READ_FILE} reads.`
}

/** The note at the end of a result's text, if there is one. */
export function storedNoteOf(message: ToolMessage): string | undefined {
  // A note is short: what comes before its last line need not be looked at.
  const line = textOf(message).slice(-5_000).split('\n').at(-1) ?? ''
  return /^\[This result has .* (All of it is in .+, which read_file reads\.)\]$/.exec(line)?.[1]
}

/** Whether a text is that note alone, in the brackets of a placeholder. */
export function isStoredNote(text: string): boolean {
  return text.length < 5_000 && /^ \[All of it is in .+, which read_file reads\.\]$/.test(text)
}
