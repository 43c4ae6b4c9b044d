/** Handles hosts that send all arguments again with each piece of them. */

/**
 * Tells a re-send from a piece that goes on.
 *
 * A piece is a re-send if it begins with everything that came so far, an object begun at least, and could not go on with it
 * as JSON: a `{` may come only where a value may begin; inside a string the first quote of the piece would end it, and its
 * first key would follow. So pieces of valid arguments are never taken for re-sends, however they are cut: in `{"a":` |
 * `{"a":1}}` the second may go on, and does. Where both are possible the piece goes on, until a later one shows that it did
 * not; once there was one re-send, all that can be one are.
 */
export class Resends {
  #certain = false
  /** All that came, if the pieces that may have been re-sends were. */
  #candidate: string | undefined

  /** Whether a piece of this length can be a re-send of a text of that length: everything else is worth no look. */
  possible(delta: number, text: number): boolean {
    return delta >= text || (this.#candidate !== undefined && delta >= this.#candidate.length)
  }

  /** Whether `delta` is all of the arguments again, and not the next piece after `text`. */
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

/** A brace alone is not repeated by another: in `{{`, whatever it is, they would be one if they came one by one. */
function repeats(text: string, delta: string): boolean {
  return delta.length > 1 && delta.startsWith(text) && text.trimStart().startsWith('{')
}

/** Whether `delta`, which begins with `text`, an object, may follow it in JSON. */
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
