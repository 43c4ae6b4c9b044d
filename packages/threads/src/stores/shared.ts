/** Functions that all stores of this package share. */

import { CheckpointConflictError, type StoredCheckpoint } from '@meanwhile/core'
import type { TurnRecord } from '../thread-store.ts'

/** Whether the turn has not ended. */
export function isOpen({ status }: TurnRecord): boolean {
  return status === 'queued' || status === 'running' || status === 'waiting'
}

/** Compares two turns by their numbers, for `sort`. */
export const byNumber = (a: TurnRecord, b: TurnRecord): number => a.number - b.number

/** Returns the JSON text of a checkpoint. Throws a `RangeError` unless the revision is a safe integer above `expected`. */
export function checkpointText(checkpoint: StoredCheckpoint, expected: number): string {
  const { revision } = checkpoint
  if (!Number.isSafeInteger(revision) || revision <= expected)
    throw new RangeError(`revision ${revision} cannot be saved over revision ${expected}`)
  return JSON.stringify(checkpoint)
}

/** Returns the error of a save over another revision than `expected`. `found`: the stored revision, if there is one. */
export function conflictOf(id: string, expected: number, found: number | undefined): CheckpointConflictError {
  return found === undefined
    ? new CheckpointConflictError(id, expected)
    : new CheckpointConflictError(id, expected, found)
}
