/** Tells errors that end a run from those after which another attempt may succeed. */

import {
  CheckpointConflictError,
  CheckpointMismatchError,
  CheckpointStoreError,
  CheckpointVersionError,
} from '@meanwhile/core'
import { DurableSetUpError, DurableStoreError, UnknownAgentError } from './errors.ts'

/** Whether the database or the checkpoint store failed for now and may succeed later. */
export function isTransient(error: unknown): boolean {
  return error instanceof DurableStoreError || (error instanceof CheckpointStoreError && error.operation !== 'open')
}

/** Whether the run itself has not failed: the database has, another worker has the run, or another worker may have what this one lacks. */
export function isRetryable(error: unknown): boolean {
  return (
    error instanceof DurableStoreError ||
    error instanceof DurableSetUpError ||
    error instanceof CheckpointConflictError ||
    error instanceof CheckpointStoreError ||
    error instanceof CheckpointMismatchError ||
    error instanceof CheckpointVersionError ||
    error instanceof UnknownAgentError
  )
}
