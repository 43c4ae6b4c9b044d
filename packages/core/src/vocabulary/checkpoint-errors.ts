/** The errors of checkpoints and their stores. */

import { AgentError, type Cause } from './errors.ts'

/** The base of all that goes wrong with a checkpoint. */
export class CheckpointError extends AgentError {
  override readonly name: string = 'CheckpointError'
  /** Its run's. Empty where that is not known, or where it is no one checkpoint that is concerned. */
  readonly id: string

  constructor(id: string, problem: string, options?: Cause) {
    super(`${id ? `checkpoint ${JSON.stringify(id)}` : 'checkpoint'}: ${problem}`, options)
    this.id = id
  }
}

/** What is stored has another revision than the one to be saved over: somebody else has saved. */
export class CheckpointConflictError extends CheckpointError {
  override readonly name = 'CheckpointConflictError'
  /** The revision to be saved over; 0: nothing. */
  readonly expected: number
  /** The revision there was; absent if there was nothing. */
  declare readonly found?: number

  constructor(id: string, expected: number, found?: number) {
    const asked = expected === 0 ? 'nothing' : `revision ${expected}`
    const stored =
      found === undefined
        ? 'nothing is stored'
        : `revision ${found} is stored: somebody else has saved or resumed this run since`
    super(id, `${asked} was to be saved over, but ${stored}`)
    this.expected = expected
    if (found !== undefined) this.found = found
  }
}

/** What is stored under an id is damaged. It stays as it is. */
export class CheckpointCorruptError extends CheckpointError {
  override readonly name = 'CheckpointCorruptError'
}

/** A checkpoint could not be read or written, which says nothing of the checkpoint. `cause` is what the store threw. */
export class CheckpointStoreError extends CheckpointError {
  override readonly name = 'CheckpointStoreError'
  /** What failed: to open the store, to load or save in it, or to take the checkpoint, as its run holds what JSON cannot. */
  readonly operation: 'open' | 'load' | 'take' | 'save'

  constructor(operation: CheckpointStoreError['operation'], id: string, problem: string, options?: Cause) {
    super(id, problem, options)
    this.operation = operation
  }
}

/** There is no checkpoint under this id. */
export class CheckpointMissingError extends CheckpointError {
  override readonly name = 'CheckpointMissingError'

  constructor(id: string) {
    super(id, 'nothing is stored under it')
  }
}

/** A checkpoint of a newer format than this version reads. */
export class CheckpointVersionError extends CheckpointError {
  override readonly name = 'CheckpointVersionError'
  readonly found: unknown
  /** The newest format that can be read. */
  readonly supported: number

  constructor(id: string, found: unknown, supported: number) {
    super(id, `its format is ${JSON.stringify(found)}, and the newest that can be read is ${supported}`)
    this.found = found
    this.supported = supported
  }
}

/**
 * A checkpoint that is not this agent's, lacks the tool of an open call, or holds a value that no longer fits its schema.
 */
export class CheckpointMismatchError extends CheckpointError {
  override readonly name = 'CheckpointMismatchError'
}
