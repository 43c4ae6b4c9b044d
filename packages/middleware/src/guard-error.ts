/** A guard has stopped the run. */

import { AgentError } from '@meanwhile/core'

/** What a guard checks. */
export type GuardPlace = 'input' | 'output' | 'tool'

/** A check of a guard has failed, and ended the run. A resume of the stored run rejects with the same name, message and data. */
export class GuardError extends AgentError {
  static override readonly brand: string = 'GuardError'
  override readonly final = true
  /** The name of the guard. */
  readonly guard: string
  /** What was checked. */
  readonly place: GuardPlace
  /** Why it failed, as the check says. If the check threw, the error is the `cause`. */
  readonly reason?: string

  constructor(guard: string, place: GuardPlace, reason?: string, options?: ErrorOptions) {
    super(`the guard ${guard} has failed at the ${place}`, options)
    this.guard = guard
    this.place = place
    if (reason !== undefined) this.reason = reason
  }
}
