/** The errors of checkpoints and checkpoint stores. */

import { AgentError } from './errors.ts'

/** The base class of the errors of checkpoints. */
export class CheckpointError extends AgentError {
  static override readonly brand: string = 'CheckpointError'
  /** The id of the run. Empty if it is unknown, or if the error is not about one checkpoint. */
  declare readonly id: string

  constructor(id: string, problem: string, options?: ErrorOptions) {
    super(`${id ? `checkpoint ${JSON.stringify(id)}` : 'checkpoint'}: ${problem}`, options)
    this.id = id
  }
}

/** The stored checkpoint has another revision than expected: another process has saved or resumed this run. */
export class CheckpointConflictError extends CheckpointError {
  static override readonly brand: string = 'CheckpointConflictError'
  /** The revision that the save expected; 0 means none. */
  declare readonly expected: number
  /** The stored revision; absent if nothing is stored. */
  declare readonly found?: number

  constructor(id: string, expected: number, found?: number) {
    const asked = expected === 0 ? 'nothing' : `revision ${expected}`
    const stored =
      found === undefined
        ? 'nothing is stored'
        : `revision ${found} is stored: another process has saved or resumed this run`
    super(id, `the save expected ${asked}, but ${stored}`)
    this.expected = expected
    if (found !== undefined) this.found = found
  }
}

/** A stored checkpoint is damaged. The store keeps it unchanged. */
export class CheckpointCorruptError extends CheckpointError {
  static override readonly brand: string = 'CheckpointCorruptError'
}

/** A checkpoint could not be read or written; the checkpoint itself may be valid. `cause` is what the store threw. */
export class CheckpointStoreError extends CheckpointError {
  static override readonly brand: string = 'CheckpointStoreError'
  /** What failed: to open the store, to load or save a checkpoint, or to take one, because the run contains a value that JSON cannot represent. */
  declare readonly operation: 'open' | 'load' | 'take' | 'save'

  constructor(operation: CheckpointStoreError['operation'], id: string, problem: string, options?: ErrorOptions) {
    super(id, problem, options)
    this.operation = operation
  }
}

/** The store has no checkpoint with this id. */
export class CheckpointMissingError extends CheckpointError {
  static override readonly brand: string = 'CheckpointMissingError'

  constructor(id: string) {
    super(id, 'nothing is stored with this id')
  }
}

/** The checkpoint has a newer format than this version can read. */
export class CheckpointVersionError extends CheckpointError {
  static override readonly brand: string = 'CheckpointVersionError'
  /** The format of the checkpoint. */
  declare readonly found: unknown
  /** The newest format that can be read. */
  declare readonly supported: number

  constructor(id: string, found: unknown, supported: number) {
    super(id, `its format is ${JSON.stringify(found)}, and this version reads up to ${supported}`)
    this.found = found
    this.supported = supported
  }
}

/** The checkpoint belongs to another agent, or the agent lacks a tool of an open call, or a saved value no longer matches its schema. */
export class CheckpointMismatchError extends CheckpointError {
  static override readonly brand: string = 'CheckpointMismatchError'
}
