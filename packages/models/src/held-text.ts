/** Limits the argument text that a reader holds back until it knows which call the text belongs to. */

import { DEFAULT_INPUT_LIMITS, type InputLimits } from '@meanwhile/core'
import { ContradictionError } from './explain.ts'

/** The response may hold back as much as one call may have, and at least as much as by default. */
export class HeldText {
  /** In UTF-16. */
  readonly #most: number
  #bytes = 0

  constructor({ characters }: InputLimits) {
    this.#most = 2 * Math.max(characters, DEFAULT_INPUT_LIMITS.characters)
  }

  /** @throws {ContradictionError} The response holds back more than it may. */
  add(text: string): void {
    this.#bytes += 2 * text.length
    if (this.#bytes > this.#most) {
      throw new ContradictionError(`more than ${this.#most} bytes of arguments arrived whose call is not known`)
    }
  }

  /** Stops counting this text, because its call is known. */
  release(text: string): void {
    this.#bytes -= 2 * text.length
  }
}

/** The error of a response with argument text that belongs to none of its calls. */
export function ownerless(): ContradictionError {
  return new ContradictionError('the response contains arguments that belong to none of its calls')
}
