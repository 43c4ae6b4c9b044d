/** A run was given a context that does not fit, or none. */

import { AgentError, type Cause, type Issue, inWords } from './errors.ts'

/**
 * The context of a run does not fit what its tools and middlewares need. No model was called. Of a resume: nothing has run, and the same
 * checkpoint can be resumed with another context.
 */
export class ContextError extends AgentError {
  override readonly name = 'ContextError'
  /** A path begins with who needs it: `tool orders.tenant`. No value of the context is in them, unless a schema's message has it. */
  readonly issues: readonly Issue[]

  constructor(issues: readonly Issue[], options?: Cause) {
    super(`the context of the run does not fit: ${inWords(issues)}`, options)
    this.issues = issues
  }
}
