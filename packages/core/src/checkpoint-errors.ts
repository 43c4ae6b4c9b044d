/** What goes wrong with checkpoints and their stores. */

import { AgentError, type Cause } from './errors.ts'

/** What is stored has another revision than the one to be saved over: somebody else has saved (L14, L19). */
export class CheckpointConflictError extends AgentError {
  override readonly name = 'CheckpointConflictError'
  readonly id: string
  /** The revision to be saved over; 0: nothing. */
  readonly expected: number
  /** The revision there was; absent if there was nothing. */
  declare readonly found?: number

  constructor(id: string, expected: number, found?: number) {
    const asked = expected === 0 ? 'nothing' : `revision ${expected}`
    const stored = found === undefined ? 'nothing is' : `revision ${found} is`
    super(`checkpoint ${JSON.stringify(id)}: ${asked} was to be saved over, but ${stored} stored`)
    this.id = id
    this.expected = expected
    if (found !== undefined) this.found = found
  }
}

/** What is stored under an id is damaged. It stays as it is (L18). */
export class CheckpointCorruptError extends AgentError {
  override readonly name = 'CheckpointCorruptError'
  readonly id: string

  constructor(id: string, problem: string, options?: Cause) {
    super(`checkpoint ${JSON.stringify(id)}: ${problem}`, options)
    this.id = id
  }
}

/** A checkpoint could not be read or written, which says nothing of the checkpoint (L16). `cause` is what the store threw. */
export class CheckpointStoreError extends AgentError {
  override readonly name = 'CheckpointStoreError'

  constructor(problem: string, options?: Cause) {
    super(`checkpoint store: ${problem}`, options)
  }
}

/** There is no checkpoint under this id. */
export class CheckpointMissingError extends AgentError {
  override readonly name = 'CheckpointMissingError'
  readonly id: string

  constructor(id: string) {
    super(`checkpoint ${JSON.stringify(id)}: nothing is stored under it`)
    this.id = id
  }
}

/** A checkpoint of a newer format than this version reads (L18). */
export class CheckpointVersionError extends AgentError {
  override readonly name = 'CheckpointVersionError'
  readonly found: unknown
  /** The newest format that can be read. */
  readonly supported: number

  constructor(found: unknown, supported: number) {
    super(`the checkpoint has format ${JSON.stringify(found)}, and the newest that can be read is ${supported}`)
    this.found = found
    this.supported = supported
  }
}

/**
 * A checkpoint that is not this agent's, lacks the tool of an open call, or holds a value that no longer fits its schema
 * (L18, D4).
 */
export class CheckpointMismatchError extends AgentError {
  override readonly name = 'CheckpointMismatchError'
  readonly id: string

  constructor(id: string, problem: string) {
    super(`checkpoint ${JSON.stringify(id)}: ${problem}`)
    this.id = id
  }
}
