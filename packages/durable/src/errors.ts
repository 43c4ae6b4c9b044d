/** What goes wrong with durable runs: one small class for each thing that a caller may catch. */

import { messageOf } from '@meanwhile/core'

/** Plain data of an error: no stack, no cause. */
export interface ErrorInfo {
  readonly name: string
  readonly message: string
}

/** The base of all errors of durable runs. */
export class DurableError extends Error {
  override readonly name: string = 'DurableError'
  /** The id of the run; empty if it is about no single run. */
  readonly id: string

  constructor(id: string, problem: string, options?: ErrorOptions) {
    super(id ? `run ${JSON.stringify(id.slice(0, 64))}: ${problem}` : problem, options)
    this.id = id
  }
}

/** The id cannot be the id of a run: it is a string of 1 to 255 characters, without NUL and without halves of surrogate pairs. */
export class RunIdError extends DurableError {
  override readonly name = 'RunIdError'

  constructor(id: unknown) {
    super(
      typeof id === 'string' ? id : '',
      'the id of a run must be a string of 1 to 255 characters, without NUL and half surrogate pairs',
    )
  }
}

/** There is another run under the id: of another agent, or one that was not started as a durable run. */
export class RunIdTakenError extends DurableError {
  override readonly name = 'RunIdTakenError'

  constructor(id: string, owner: string) {
    super(id, `its id is taken by ${owner}`)
  }
}

/** There is no run under the id: it was never started, or it was deleted. */
export class UnknownRunError extends DurableError {
  override readonly name = 'UnknownRunError'

  constructor(id: string) {
    super(id, 'there is no such run')
  }
}

/** No agent has this name in this process. */
export class UnknownAgentError extends DurableError {
  override readonly name = 'UnknownAgentError'
  readonly agent: string

  constructor(id: string, agent: string, known: readonly string[]) {
    super(id, `there is no agent ${JSON.stringify(agent.slice(0, 64))} here; there are ${known.join(', ')}`)
    this.agent = agent
  }
}

/** Only a run that has failed or was cancelled can be retried. */
export class NothingToRetryError extends DurableError {
  override readonly name = 'NothingToRetryError'

  constructor(id: string, status: string) {
    super(id, `only a failed or cancelled run can be retried, and it is ${status}`)
  }
}

/** The run has failed. `error` is what ended it. */
export class RunFailedError extends DurableError {
  override readonly name = 'RunFailedError'
  readonly error: ErrorInfo

  constructor(id: string, error: ErrorInfo) {
    super(id, `it has failed: ${error.name}: ${error.message}`)
    this.error = error
  }
}

/** The run was cancelled, so it has no result. */
export class RunCancelledError extends DurableError {
  override readonly name = 'RunCancelledError'

  constructor(id: string) {
    super(id, 'it was cancelled')
  }
}

/** Each worker that took the run has ended before the run came to a stop. */
export class RunPoisonedError extends DurableError {
  override readonly name = 'RunPoisonedError'
  readonly attempts: number

  constructor(id: string, attempts: number) {
    super(id, `${attempts} workers have taken it, and each has ended before the run came to a stop`)
    this.attempts = attempts
  }
}

/** The cursor is none that a reader of events was given. */
export class CursorError extends DurableError {
  override readonly name = 'CursorError'

  constructor(id: string) {
    super(id, 'this is no cursor of its events')
  }
}

/** The database or its tables are not as they must be. `cause` is PostgreSQL's error. */
export class DurableSetUpError extends DurableError {
  override readonly name = 'DurableSetUpError'

  constructor(problem: string, options: ErrorOptions) {
    super('', problem, options)
  }
}

/** The database has failed, or its connection was lost: nobody knows whether what was asked for is done. `cause` is the error of its client. */
export class DurableStoreError extends DurableError {
  override readonly name = 'DurableStoreError'
  /** PostgreSQL's SQLSTATE, or the code of Node.js such as `ECONNREFUSED`; empty if there is none. */
  readonly code: string

  constructor(code: string, options: { readonly cause: unknown }) {
    super(
      '',
      `the database has failed: ${messageOf(options.cause)}. What was asked for may be done or not: ask again`,
      options,
    )
    this.code = code
  }
}

/** The worker stops, and another one is to go on. Only engines see it. */
export class RunHandedBackError extends DurableError {
  override readonly name = 'RunHandedBackError'

  constructor(id: string) {
    super(id, 'this worker stops: another one is to go on')
  }
}
