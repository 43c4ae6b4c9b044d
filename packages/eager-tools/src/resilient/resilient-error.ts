/** Every attempt of a model call has failed. */

import { BrandedError } from '@meanwhile/core/calls'
import { messagesOf } from './failure.ts'

/** Every attempt of a model call has failed, and there were several. `cause` is the last error. */
export class ResilientError extends BrandedError {
  static override readonly brand: string = 'ResilientError'
  /** One for each attempt, in their order. */
  readonly errors: readonly unknown[]
  /** The library that asked must not repeat all attempts once more. */
  readonly isRetryable = false

  constructor(errors: readonly unknown[]) {
    const last = errors.at(-1)
    super(`all ${errors.length} attempts failed; the last error: ${messagesOf(last)}`, { cause: last })
    this.errors = errors
  }
}
