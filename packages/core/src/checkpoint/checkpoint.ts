/** A checkpoint from outside: whether it is one, and is not damaged. */

import { CheckpointCorruptError, CheckpointVersionError } from '../vocabulary/checkpoint-errors.ts'
import { freeze } from '../vocabulary/history.ts'
import { isRecord } from '../vocabulary/json.ts'
import { CHECKPOINT_FORMAT, type Checkpoint } from '../vocabulary/saved-run.ts'
import { isCount } from '../vocabulary/shape.ts'
import { isCheckpoint } from './checkpoint-shape.ts'
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
      if (isCheckpoint(checkpoint)) return freeze(checkpoint)
    }
  } catch (cause) {
    // It refers to itself, is nested too deep …
    throw new CheckpointCorruptError(idOf(value), 'it is no JSON that can be read', { cause })
  }
  throw new CheckpointCorruptError(idOf(value), 'it is no checkpoint, or is damaged')
}

/**
 * Whether the final answer of a run was accepted. Then `agent.resume` judges no answer and makes no further step, and `agent.close` refuses
 * the checkpoint. Otherwise `agent.resume` goes on with the run. What a run waits for is in `interrupts` of its checkpoint.
 *
 * @param checkpoint - In any format, as a result has it or a store has loaded it. It is not searched for damage. `false` if it is none.
 */
export function hasFinalAnswer(checkpoint: unknown): boolean {
  if (!isRecord(checkpoint)) return false
  const { status, steps } = checkpoint
  const step = isRecord(steps) ? steps.current : checkpoint.step
  return status === 'completed' || (isRecord(step) && step.phase === 'over')
}

function idOf(value: unknown): string {
  return isRecord(value) && typeof value.runId === 'string' ? value.runId : ''
}

/** Whether it is as it was written: whoever wrote it has given it all its members, and their checksum. */
function isWhole(value: unknown): value is Checkpoint | Format1 {
  if (!isRecord(value) || (value.format !== 1 && value.format !== CHECKPOINT_FORMAT)) return false
  return isCount(value.revision) && value.checksum === checksumOf(value)
}
