/** Loads the checkpoint of a run. */

import {
  type Checkpoint,
  CheckpointError,
  CheckpointMissingError,
  type CheckpointStore,
  CheckpointStoreError,
} from '@meanwhile/core'

/**
 * The checkpoint as it is stored; the agent validates it.
 * @throws {CheckpointMissingError} There is no checkpoint.
 * @throws {CheckpointStoreError} The store has failed.
 */
export async function storedCheckpoint(store: CheckpointStore, id: string): Promise<Checkpoint> {
  const checkpoint = await findCheckpoint(store, id)
  if (!checkpoint) throw new CheckpointMissingError(id)
  return checkpoint
}

/** Returns undefined if there is no checkpoint. @throws {CheckpointStoreError} The store has failed. */
export async function findCheckpoint(store: CheckpointStore, id: string): Promise<Checkpoint | undefined> {
  const stored = await load(store, id)
  return isCheckpoint(stored) ? stored : undefined
}

async function load(store: CheckpointStore, id: string): Promise<unknown> {
  try {
    return await store.load(id)
  } catch (cause) {
    if (cause instanceof CheckpointError) throw cause
    throw new CheckpointStoreError('load', id, 'it could not be loaded', { cause })
  }
}

function isCheckpoint(value: unknown): value is Checkpoint {
  return typeof value === 'object' && value !== null && 'interrupts' in value && Array.isArray(value.interrupts)
}
