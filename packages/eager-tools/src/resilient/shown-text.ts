/** A text that a reader has, and how much of it the present attempt has written again. */

export class ShownText {
  #text = ''
  #written = 0

  /** What the present attempt has written. */
  get written(): string {
    return this.#text.slice(0, this.#written)
  }

  /** Whether the present attempt has written all that the reader has. */
  get isWhole(): boolean {
    return this.#written === this.#text.length
  }

  /** Another attempt begins. */
  again(): void {
    this.#written = 0
  }

  /** The attempt writes this next. Returns what of it the reader does not have; `undefined` if it has another text there. */
  add(piece: string): string | undefined {
    if (this.isWhole) {
      this.#text += piece
      this.#written = this.#text.length
      return piece
    }
    const known = this.#text.slice(this.#written, this.#written + piece.length)
    if (!piece.startsWith(known)) return undefined
    this.#written += known.length
    return piece.length > known.length ? this.add(piece.slice(known.length)) : ''
  }
}
