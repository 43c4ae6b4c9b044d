/** Limits the argument text that a reader holds back until it knows which call the text belongs to. */

import { DEFAULT_INPUT_LIMITS } from '@meanwhile/core'
import { ContradictionError } from './explain.ts'

/** As much as one call may have, in UTF-16. */
const MOST_BYTES = 2 * DEFAULT_INPUT_LIMITS.characters

export class HeldText {
  #bytes = 0

  /** @throws {ContradictionError} The response holds back more than it may. */
  add(text: string): void {
    this.#bytes += 2 * text.length
    if (this.#bytes > MOST_BYTES) {
      throw new ContradictionError(`more than ${MOST_BYTES} bytes of arguments arrived whose call is not known`)
    }
  }

  /** The call of this text is known. */
  release(text: string): void {
    this.#bytes -= 2 * text.length
  }
}

/** The error of a response with argument text that belongs to none of its calls. */
export function ownerless(): ContradictionError {
  return new ContradictionError('the response contains arguments that belong to none of its calls')
}
