/** The request for an approval failed. The error concerns only one call: the model reads it as an error result. */

import { BrandedError } from '@meanwhile/core/calls'

export class ApprovalError extends BrandedError {
  static override readonly brand: string = 'ApprovalError'
  /** The name of the tool. */
  readonly tool: string

  /** The cause is the original error; the model does not read it. */
  constructor(tool: string, cause: unknown) {
    super(`Not run: the request for approval of ${tool} failed.`, { cause })
    this.tool = tool
  }
}
