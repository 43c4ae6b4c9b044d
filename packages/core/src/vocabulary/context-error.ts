/** The error of a run whose context does not match the schemas of its tools and middleware. */

import { AgentError, type Issue, inWords } from './errors.ts'

/**
 * The context of a run is missing or does not match what its tools and middleware need. No model was called. If this is a resume, nothing has run,
 * and you can resume the same checkpoint with another context.
 */
export class ContextError extends AgentError {
  static override readonly brand: string = 'ContextError'
  /**
   * What does not match. Each path begins with the tool or middleware that needs the value: `tool orders.tenant`. An issue contains no value of the
   * context, unless the schema puts one into its message.
   */
  declare readonly issues: readonly Issue[]

  constructor(issues: readonly Issue[], options?: ErrorOptions) {
    super(`the context of the run does not match: ${inWords(issues)}`, options)
    this.issues = issues
  }
}
