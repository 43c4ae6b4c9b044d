/** The note that the model reads about a tool result in a file. One middleware writes it, another one preserves it. */

import { type ToolMessage, textOf } from '@meanwhile/core'
import { READ_FILE } from './filesystem/read-file.ts'

export function storedNote(path: string): string {
  return `The full result is in ${path}; read it with ${READ_FILE}.`
}

/** The note at the end of a result's text, if there is one. */
export function storedNoteOf(message: ToolMessage): string | undefined {
  // A note is short, so only the end of the text is searched.
  const line = textOf(message).slice(-5_000).split('\n').at(-1) ?? ''
  return /^\[This result has .* (The full result is in .+; read it with read_file\.)\]$/.exec(line)?.[1]
}

/** Whether a text is only that note, in the brackets of a placeholder. */
export function isStoredNote(text: string): boolean {
  return text.length < 5_000 && /^ \[The full result is in .+; read it with read_file\.\]$/.test(text)
}
