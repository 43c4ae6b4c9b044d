/** A text that arrives in pieces: kept as a list and joined once. */
export class Fragments {
  #pieces: string[] = []
  #held = ''

  /** Takes a piece and returns the piece to show. If a surrogate pair was cut in two, it is shown complete, with the later piece. */
  add(delta: string): string {
    let piece = this.#held === '' ? delta : this.#held + delta
    if (piece === '') return ''
    this.#held = ''
    if (isHighSurrogate(piece.charCodeAt(piece.length - 1))) {
      this.#held = piece.slice(-1)
      piece = piece.slice(0, -1)
    }
    if (piece !== '') this.#pieces.push(piece)
    return piece
  }

  /** Returns the piece that is still held back, when nothing more will come. */
  rest(): string {
    const held = this.#held
    this.#held = ''
    if (held !== '') this.#pieces.push(held)
    return held
  }

  /** The pieces shown so far. */
  get pieces(): readonly string[] {
    return this.#pieces
  }

  /** The whole text. */
  join(): string {
    if (this.#pieces.length > 1) this.#pieces = [this.#pieces.join('')]
    return (this.#pieces[0] ?? '') + this.#held
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
