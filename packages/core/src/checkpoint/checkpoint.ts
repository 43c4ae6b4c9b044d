/** A checkpoint from outside: whether it is one, and is not damaged. */

import { CheckpointCorruptError, CheckpointVersionError } from '../vocabulary/checkpoint-errors.ts'
import { freeze } from '../vocabulary/history.ts'
import { isRecord } from '../vocabulary/json.ts'
import { CHECKPOINT_FORMAT, type Checkpoint } from '../vocabulary/saved-run.ts'
import { isCount } from '../vocabulary/shape.ts'
import { checksumOf } from './checksum.ts'
import { type Format1, fromFormat1 } from './format-1.ts'

/**
 * A checkpoint from outside: a frozen copy, in the format of this version.
 *
 * @throws {CheckpointCorruptError} It is none, or is damaged.
 * @throws {CheckpointVersionError} A later version wrote it.
 */
export function checkedCheckpoint(value: unknown): Checkpoint {
  if (isRecord(value) && typeof value.format === 'number' && value.format > CHECKPOINT_FORMAT)
    throw new CheckpointVersionError(idOf(value), value.format, CHECKPOINT_FORMAT)
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value))
    if (isWhole(copy)) {
      const checkpoint = copy.format === 1 ? fromFormat1(copy) : copy
      if (hasShape(checkpoint)) return freeze(checkpoint)
    }
  } catch (cause) {
    // It refers to itself, is nested too deep …
    throw new CheckpointCorruptError(idOf(value), 'it is no JSON that can be read', { cause })
  }
  throw new CheckpointCorruptError(idOf(value), 'it is no checkpoint, or is damaged')
}

/** Whether it is a checkpoint of a run whose answer was accepted: no further step takes what is sent to it. */
export function hasEnded(value: unknown): boolean {
  if (!isRecord(value)) return false
  const step = isRecord(value.steps) ? value.steps.current : value.step
  return value.status === 'completed' || (isRecord(step) && step.phase === 'over')
}

function idOf(value: unknown): string {
  return isRecord(value) && typeof value.runId === 'string' ? value.runId : ''
}

/** Whether it is as it was written: whoever wrote it has given it all its members, and their checksum. */
function isWhole(value: unknown): value is Checkpoint | Format1 {
  if (!isRecord(value) || (value.format !== 1 && value.format !== CHECKPOINT_FORMAT)) return false
  return isCount(value.revision) && value.checksum === checksumOf(value)
}

const LISTS = ['interrupts', 'messages', 'warnings', 'calls', 'undos', 'tools', 'sent', 'unknown', 'abandoned'] as const
const RECORDS = ['usage', 'steps', 'questions', 'values'] as const

/** Whether its members are of the right kind: a right checksum does not show that. */
function hasShape(checkpoint: Checkpoint): boolean {
  const { status, result, steps, calls, messages } = checkpoint
  return (
    LISTS.every((name) => Array.isArray(checkpoint[name])) &&
    RECORDS.every((name) => isRecord(checkpoint[name])) &&
    (status !== 'completed' || isRecord(result)) &&
    Array.isArray(steps.added) &&
    messages.every(isRecord) &&
    calls.every((call) => isRecord(call) && isRecord(call.call) && typeof call.call.name === 'string')
  )
}
