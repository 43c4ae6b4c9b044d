/** Defines the contract of a checkpoint store, and the functions that our stores share. */

import { CheckpointCorruptError, CheckpointStoreError } from './checkpoint-errors.ts'
import { AgentError, ConfigError } from './errors.ts'

/** The members of a checkpoint that a store reads. Everything else in it is plain JSON that a store must not interpret. */
export interface StoredCheckpoint {
  /** The id of the run. */
  readonly runId: string
  /** The number of this save, from 1. It is greater than the revision that it replaces. */
  readonly revision: number
}

/**
 * Stores the newest checkpoint of each id. An id is any string; ids that differ only in case are different. To test your own store, run
 * `storeContract` of `@meanwhile/stores/contract` with it.
 */
export interface CheckpointStore {
  /**
   * Returns a copy of the stored checkpoint, parsed but not checked; `undefined` if nothing is stored.
   *
   * @throws {CheckpointCorruptError} The stored bytes are not JSON. The store keeps them unchanged.
   */
  load(id: string): Promise<unknown>
  /**
   * Stores the checkpoint, as it is at the time of this call, if the stored revision is `expected`. With `expected` 0 it stores the checkpoint if
   * nothing is stored. If several processes replace the same revision, one of them succeeds.
   *
   * @throws {CheckpointConflictError} Another revision is stored. The store keeps it.
   */
  save(id: string, checkpoint: StoredCheckpoint, expected: number): Promise<void>
  /** Deletes the checkpoint. Does nothing if there is none. */
  delete(id: string): Promise<void>
  /** Deletes checkpoints whose last save was before `olderThan` (epoch milliseconds or a `Date`), and returns their number. */
  prune(options: { readonly olderThan: Date | number }): Promise<number>
}

/** @throws {ConfigError} The value is neither a store nor undefined. */
export function checkStore(store: CheckpointStore | undefined): void {
  if (store && (typeof store.load !== 'function' || typeof store.save !== 'function'))
    throw new ConfigError('checkpoints', 'must be a store with load and save, such as memoryStore()')
}

/** Returns the text that a store writes. Throws `RangeError` if the revision is not an integer greater than `expected`. */
export function writtenCheckpoint(checkpoint: StoredCheckpoint, expected: number): string {
  if (!Number.isSafeInteger(checkpoint.revision) || checkpoint.revision <= expected) {
    throw new RangeError(`revision ${checkpoint.revision} cannot replace revision ${expected}`)
  }
  return JSON.stringify(checkpoint)
}

/** @throws {CheckpointCorruptError} The text is not JSON. */
export function readCheckpoint(id: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new CheckpointCorruptError(id, 'what is stored is not JSON', { cause })
  }
}

/** Loads a checkpoint. Throws an `AgentError` of the store unchanged, and any other error as the cause of a {@link CheckpointStoreError}. */
export async function loaded(store: CheckpointStore, id: string): Promise<unknown> {
  try {
    return await store.load(id)
  } catch (cause) {
    if (cause instanceof AgentError) throw cause
    throw new CheckpointStoreError('load', id, 'it could not be loaded', { cause })
  }
}
