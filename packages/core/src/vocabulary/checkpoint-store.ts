/** Where checkpoints are kept: the contract of a store, and what the stores of this package share. */

import { CheckpointCorruptError, CheckpointStoreError } from './checkpoint-errors.ts'
import { AgentError, ConfigError } from './errors.ts'

/** What a store needs to know of a checkpoint. All else in it is plain JSON, and none of a store's business. */
export interface StoredCheckpoint {
  readonly runId: string
  /** Counts the saves of an id, from 1: greater than the one it is saved over. */
  readonly revision: number
}

/**
 * Keeps the newest checkpoint under each id. An id is any string; no two are the same, whatever the disk thinks of their
 * case. To write one's own, run `storeContract` of `@meanwhile/core/testing` against it.
 */
export interface CheckpointStore {
  /**
   * What is stored under the id, parsed but not checked; `undefined` if nothing is. A copy: whatever is done to it changes
   * nothing.
   * @throws {CheckpointCorruptError} The stored bytes are no JSON. They stay as they are.
   */
  load(id: string): Promise<unknown>
  /**
   * Stores the checkpoint, as it is when this is called, if the revision of what is stored is `expected`; 0: if nothing is.
   * @throws {CheckpointConflictError} It is another one. What is stored stays: of several savers over one revision one wins.
   */
  save(id: string, checkpoint: StoredCheckpoint, expected: number): Promise<void>
  /** Deleting nothing is no error. */
  delete(id: string): Promise<void>
  /** Deletes what was saved last before `olderThan` (epoch milliseconds, or a `Date`), and gives how many that were. */
  prune(options: { readonly olderThan: Date | number }): Promise<number>
}

/** Throws {@link ConfigError} unless it is a store, or none. */
export function checkStore(store: CheckpointStore | undefined): void {
  if (store && (typeof store.load !== 'function' || typeof store.save !== 'function'))
    throw new ConfigError('checkpoints', 'must be a store, such as memoryStore() gives: with load and save')
}

/**
 * The text a store writes.
 * @throws {RangeError} The revision is no whole number, or none greater than `expected`: no later save could be told from
 *   this one.
 */
export function writtenCheckpoint(checkpoint: StoredCheckpoint, expected: number): string {
  if (!Number.isSafeInteger(checkpoint.revision) || checkpoint.revision <= expected) {
    throw new RangeError(`revision ${checkpoint.revision} cannot be saved over revision ${expected}`)
  }
  return JSON.stringify(checkpoint)
}

/** @throws {CheckpointCorruptError} The text is no JSON. */
export function readCheckpoint(id: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new CheckpointCorruptError(id, 'what is stored is no JSON', { cause })
  }
}

/** What is stored under an id. Whatever else a store throws is a {@link CheckpointStoreError}. */
export async function loaded(store: CheckpointStore, id: string): Promise<unknown> {
  try {
    return await store.load(id)
  } catch (cause) {
    if (cause instanceof AgentError) throw cause
    throw new CheckpointStoreError('load', id, 'it could not be loaded', { cause })
  }
}
