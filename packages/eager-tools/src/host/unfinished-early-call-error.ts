/** The host did not execute a call because an early run of it could not be ended in time. */

import { BrandedError } from '@meanwhile/core/calls'

/**
 * A call was not executed: an early run of it, which may have changed something and must not be used, had not settled
 * and been undone within `hold`. Its effect may have happened.
 */
export class UnfinishedEarlyCallError extends BrandedError {
  static override readonly brand: string = 'UnfinishedEarlyCallError'
  /** The name of the tool. */
  readonly tool: string
  /** How long the call has waited, in milliseconds. */
  readonly waited: number

  constructor(tool: string, waited: number) {
    super(
      `Not run: ${tool} had started early, and that run had not ended and been undone after ${waited} ms; its effect may have happened`,
    )
    this.tool = tool
    this.waited = waited
  }
}
