/** The errors of durable runs: one class for each failure that a caller may catch. */

import { messageOf } from '@meanwhile/core'
import { BrandedError } from '@meanwhile/core/calls'

/** An error as plain data: no stack, no cause. */
export interface ErrorInfo {
  /** The name of the error's class. */
  readonly name: string
  /** The message of the error. */
  readonly message: string
}

/** The base of all errors of durable runs. */
export class DurableError extends BrandedError {
  static override readonly brand: string = 'DurableError'
  /** The id of the run; empty if the error does not concern one run. */
  readonly id: string

  constructor(id: string, problem: string, options?: ErrorOptions) {
    super(id ? `run ${quoted(id)}: ${problem}` : problem, options)
    this.id = id
  }
}

/** The id is not valid for a run: it must be a string of 1 to 255 characters, without NUL and without unpaired surrogates. */
export class RunIdError extends DurableError {
  static override readonly brand: string = 'RunIdError'

  constructor(id: unknown) {
    super(
      typeof id === 'string' ? id : '',
      'the id of a run must be a string of 1 to 255 characters, without NUL and unpaired surrogates',
    )
  }
}

/** Another run has this id: a run of another agent, or one that was not started as a durable run. */
export class RunIdTakenError extends DurableError {
  static override readonly brand: string = 'RunIdTakenError'

  constructor(id: string, owner: string) {
    super(id, `its id belongs to ${owner}`)
  }
}

/** No run has this id: it was never started, or it was deleted. */
export class UnknownRunError extends DurableError {
  static override readonly brand: string = 'UnknownRunError'

  constructor(id: string) {
    super(id, 'this run does not exist')
  }
}

/** No agent in this process has this name. */
export class UnknownAgentError extends DurableError {
  static override readonly brand: string = 'UnknownAgentError'
  /** The name that no agent has. */
  readonly agent: string

  constructor(id: string, agent: string, known: readonly string[]) {
    super(id, `no agent here has the name ${quoted(agent)}; the agents are ${known.join(', ')}`)
    this.agent = agent
  }
}

/** Only a run that has failed or was cancelled can be retried. */
export class NothingToRetryError extends DurableError {
  static override readonly brand: string = 'DurableNothingToRetryError'
  override readonly name = 'NothingToRetryError'

  constructor(id: string, status: string) {
    super(id, `only a failed or cancelled run can be retried, and it is ${status}`)
  }
}

/** The run failed. `error` is the error that ended it. */
export class RunFailedError extends DurableError {
  static override readonly brand: string = 'RunFailedError'
  /** The error that ended the run. */
  readonly error: ErrorInfo

  constructor(id: string, error: ErrorInfo) {
    super(id, `it has failed: ${error.name}: ${error.message}`)
    this.error = error
  }
}

/** The run was cancelled, so it has no result. */
export class RunCancelledError extends DurableError {
  static override readonly brand: string = 'RunCancelledError'

  constructor(id: string) {
    super(id, 'it was cancelled')
  }
}

/** Every worker that took the run died before the run stopped. */
export class RunPoisonedError extends DurableError {
  static override readonly brand: string = 'RunPoisonedError'
  /** How many workers have taken the run. */
  readonly attempts: number

  constructor(id: string, attempts: number) {
    super(id, `${attempts} workers have taken it, and each ended before the run stopped`)
    this.attempts = attempts
  }
}

/** The cursor does not come from a reader of this run's events. */
export class CursorError extends DurableError {
  static override readonly brand: string = 'DurableCursorError'
  override readonly name = 'CursorError'

  constructor(id: string) {
    super(id, 'this is not a cursor of its events')
  }
}

/** The database or its tables are missing or wrong, or the pool was ended. `cause` is the error of the client. */
export class DurableSetUpError extends DurableError {
  static override readonly brand: string = 'DurableSetUpError'

  constructor(problem: string, options: ErrorOptions) {
    super('', problem, options)
  }
}

/** The database has failed, or its connection was lost: it is unknown whether the statement took effect. `cause` is the error of the client. */
export class DurableStoreError extends DurableError {
  static override readonly brand: string = 'DurableStoreError'
  /** PostgreSQL's SQLSTATE, or a code of Node.js such as `ECONNREFUSED`; empty without one. */
  readonly code: string

  constructor(code: string, options: { readonly cause: unknown }) {
    super(
      '',
      `the database has failed: ${messageOf(options.cause)}. The statement may or may not have taken effect: try again`,
      options,
    )
    this.code = code
  }
}

/** The worker is stopping, and another one must continue. Only engines see it. */
export class RunHandedBackError extends DurableError {
  static override readonly brand: string = 'RunHandedBackError'

  constructor(id: string) {
    super(id, 'this worker is stopping: another one must continue')
  }
}

/** A name from outside, which may be long or no string. */
function quoted(name: unknown): string {
  return JSON.stringify(String(name).slice(0, 64))
}
