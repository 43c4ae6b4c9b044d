/** Masks a text that arrives in pieces. A piece is held back only while it may be part of a secret. */

import type { Masker } from './masker.ts'

/** How many characters before a piece a pattern can look back. */
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

  /** Adds a piece and returns the text that can no longer be part of a secret, which may be empty. */
  push(piece: string): string {
    this.#held += piece
    return this.#take(false)
  }

  /** Returns the held-back text; nothing that belongs to it follows. */
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
      // Text that exceeds the window is released unmasked.
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
