/** Collects the arguments of a call in the way in which core does: some hosts send all of them again with each piece. */

import { argumentsText, ToolInput } from '@meanwhile/assemble'
import type { InputLimits } from '@meanwhile/core'
import { canonicalArguments } from './canonical-arguments.ts'

export class CallInput {
  readonly #limits: InputLimits
  #text = ''
  /** In place of the text, from the first piece on that may repeat it. */
  #repeated: ToolInput | undefined

  constructor(limits: InputLimits) {
    this.#limits = limits
  }

  /** The arguments so far, each piece once. Text that is too long to run has lost its end. */
  get text(): string {
    if (!this.#repeated) return this.#text
    this.#repeated.rest()
    return this.#repeated.pieces.join('')
  }

  /** Whether there are more than a call may have. Such a call never runs. */
  get isTooLong(): boolean {
    return this.#text.length > this.#limits.characters
  }

  /** Takes a piece, and returns what is new in it. */
  add(piece: string): string {
    if (!piece || this.isTooLong) return ''
    if (!this.#repeated && this.#mayRepeat(piece)) {
      this.#repeated = this.#scanned()
      this.#text = ''
    }
    if (this.#repeated) return this.#addTo(this.#repeated, piece)
    this.#text += piece
    return piece
  }

  replace(text: string): void {
    this.#repeated = undefined
    this.#text = text
  }

  get value(): ReturnType<ToolInput['value']> {
    return (this.#repeated ?? this.#scanned()).value()
  }

  /** Equal for inputs that mean the same. */
  get canonical(): string {
    const { input, inputError } = this.value
    return canonicalArguments(inputError === undefined ? argumentsText(input) : this.text)
  }

  /** Whether the text means the same arguments. */
  means(text: string): boolean {
    return this.text === text || this.canonical === canonicalArguments(text)
  }

  #mayRepeat(piece: string): boolean {
    if (piece.length < 2 || piece.length < this.#text.length || this.#text === '') return false
    return piece.startsWith(this.#text) && this.#text.trimStart().startsWith('{')
  }

  #scanned(): ToolInput {
    const input = new ToolInput(this.#limits)
    input.add(this.#text)
    return input
  }

  #addTo(repeated: ToolInput, piece: string): string {
    const { pieces } = repeated
    const added = repeated.add(piece)
    if (repeated.pieces.length > 0) return added
    // It is too long now, and has dropped its text.
    this.replace(pieces.join('') + piece)
    return piece
  }
}
