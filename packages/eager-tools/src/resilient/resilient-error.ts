/** Every attempt of a model call has failed. */

import { messageOf } from '@meanwhile/core'
import { BrandedError } from '@meanwhile/core/calls'

/** Every attempt of a model call has failed, and there were several. `cause` is the last error. */
export class ResilientError extends BrandedError {
  static override readonly brand: string = 'ResilientError'
  /** One for each attempt, in their order. */
  readonly errors: readonly unknown[]
  /** The library that asked must not repeat all attempts once more. */
  readonly isRetryable = false

  constructor(errors: readonly unknown[]) {
    const last = errors.at(-1)
    super(`all ${errors.length} attempts failed; the last error: ${messageOf(last)}`, { cause: last })
    this.errors = errors
  }
}
