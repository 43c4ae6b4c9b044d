/** Makes text of a model safe to read before somebody decides: in a terminal, and next to the buttons of an approval. */

import { hiddenCharacters } from './hidden-characters.ts'

/**
 * Returns the text with an escape such as `\u202e` for each character that changes what a reader sees, without being seen itself: control characters
 * except tab and line feed, characters that change the direction of text (bidi), zero-width and other invisible characters, separators of
 * lines and paragraphs, and halves of surrogate pairs. So no text can move the cursor of a terminal, hide a part of itself, or look like another one. The
 * escape of a character beyond U+FFFF is `\u{e0041}`. Joiners in emoji and in scripts that need them stay.
 *
 * A backslash of the text stays, so the model may also have written what looks like an escape.
 */
export function escapeInvisible(text: string): string {
  return text.replace(HIDDEN, (found, kept?: string) => kept ?? escaped(found))
}

/** Also all control characters but tab and line feed. */
const HIDDEN = hiddenCharacters(String.raw`\0-\x08\x0B-\x1F\x7F-\x9F\p{Cs}\u2028\u2029`)

function escaped(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16)
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
}
