/** A text that a reader has, and how much of it the present attempt has said again. */

export class ShownText {
  #text: string
  #said: number

  /** `text`: what the present attempt has said of it so far. */
  constructor(text = '') {
    this.#text = text
    this.#said = text.length
  }

  /** What the present attempt has said. */
  get said(): string {
    return this.#text.slice(0, this.#said)
  }

  /** Whether the present attempt has said all that the reader has. */
  get isWhole(): boolean {
    return this.#said === this.#text.length
  }

  /** Another attempt begins. */
  again(): void {
    this.#said = 0
  }

  /** The attempt says this next. Returns what of it the reader does not have; `undefined` if it has another text there. */
  add(piece: string): string | undefined {
    if (this.isWhole) {
      this.#text += piece
      this.#said = this.#text.length
      return piece
    }
    const known = this.#text.slice(this.#said, this.#said + piece.length)
    if (!piece.startsWith(known)) return undefined
    this.#said += known.length
    return piece.length > known.length ? this.add(piece.slice(known.length)) : ''
  }
}
