/** Handles hosts that send all arguments again with each new piece of them. */

/**
 * Distinguishes a re-send from a further piece.
 *
 * A piece is a re-send if it begins with all earlier text, if that text has at least begun an object, and if the piece could not continue it as JSON.
 * It cannot continue the text because a `{` may only come where a value may begin, and inside a string the first quote of the piece would end the
 * string, and its first key would follow. So pieces of valid arguments are never mistaken for re-sends, no matter how they are cut. In `{"a":` |
 * `{"a":1}}` the second piece may continue the first, so it does. If both are possible, the piece counts as a continuation until a later piece shows
 * that it was a re-send. After one certain re-send, every piece that can be a re-send counts as one.
 */
export class Resends {
  #certain = false
  /** The text so far, if all pieces that may have been re-sends were re-sends. */
  #candidate: string | undefined

  /** Whether a piece of this length can be a re-send of a text of that length. Any other piece need not be examined. */
  possible(delta: number, text: number): boolean {
    return delta >= text || (this.#candidate !== undefined && delta >= this.#candidate.length)
  }

  /** Whether `delta` contains all arguments again, rather than the next piece after `text`. */
  isResend(text: string, delta: string): boolean {
    const candidate = this.#candidate ?? text
    if (this.#resent(text, delta) || this.#resent(candidate, delta)) {
      this.#certain = true
      this.#candidate = undefined
      return true
    }
    this.#candidate = repeats(text, delta) || repeats(candidate, delta) ? delta : undefined
    return false
  }

  #resent(text: string, delta: string): boolean {
    return repeats(text, delta) && (this.#certain || !mayGoOn(text, delta))
  }
}

/** A single brace never counts as repeated: `{{` may arrive as two pieces of one brace each. */
function repeats(text: string, delta: string): boolean {
  return delta.length > 1 && delta.startsWith(text) && text.trimStart().startsWith('{')
}

/** Whether `delta`, which begins with `text`, an object, may follow `text` in JSON. */
function mayGoOn(text: string, delta: string): boolean {
  // The first quote of `delta` would end the string.
  if (endsInString(text)) return /^[\s:,}\]]?$/.test(delta.charAt(delta.indexOf('"') + 1))
  return /[:,[]/.test(text.trimEnd().slice(-1))
}

function endsInString(text: string): boolean {
  let inString = false
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '"') inString = !inString
    else if (inString && text[i] === '\\') i++
  }
  return inString
}
