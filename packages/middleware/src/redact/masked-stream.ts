/** A text that comes in pieces, masked: a piece is held back only while a secret may be open in it. */

import type { Masker } from './masker.ts'

/** How many characters before a piece a pattern can look back at. */
const BEFORE = 64

export class MaskedStream {
  readonly #masker: Masker
  /** How many characters may be held back. */
  readonly #window: number
  #before = ''
  #held = ''

  constructor(masker: Masker, window: number) {
    this.#masker = masker
    this.#window = window
  }

  /** Gives what can be told by now, which may be nothing. */
  push(piece: string): string {
    this.#held += piece
    return this.#take(false)
  }

  /** Gives what was held back: nothing more comes that belongs to it. */
  flush(): string {
    return this.#held === '' ? '' : this.#take(true)
  }

  #take(isAll: boolean): string {
    const text = this.#before + this.#held
    const next = this.#masker.finder(text)
    let from = this.#before.length
    let openFrom = from
    let taken = ''
    let open = isAll ? text.length : this.#masker.openAt(text, openFrom)
    for (;;) {
      if (open < openFrom) open = this.#masker.openAt(text, openFrom)
      const match = open > from ? next(from) : undefined
      if (match && match.start < open) {
        taken += text.slice(from, match.start) + this.#masker.maskOf(match)
        from = match.end
        openFrom = Math.max(openFrom, from)
        continue
      }
      // What is open for longer than that is taken as it stands.
      if (text.length - open > this.#window) {
        openFrom = text.length - this.#window
        continue
      }
      this.#before = text.slice(Math.max(0, open - BEFORE), open)
      this.#held = text.slice(open)
      return taken + text.slice(from, open)
    }
  }
}
