/** Finds and validates a checkpoint that comes from outside core. */

import {
  CheckpointCorruptError,
  CheckpointMismatchError,
  CheckpointMissingError,
  CheckpointVersionError,
} from '../vocabulary/checkpoint-errors.ts'
import { type CheckpointStore, loaded } from '../vocabulary/checkpoint-store.ts'
import { ConfigError } from '../vocabulary/errors.ts'
import { hashOf } from '../vocabulary/hash.ts'
import { freeze, messageHash } from '../vocabulary/history.ts'
import { isRecord } from '../vocabulary/json.ts'
import { kindOf } from '../vocabulary/message-shape.ts'
import type { CompletedResult } from '../vocabulary/result.ts'
import { CHECKPOINT_FORMAT, type Checkpoint } from '../vocabulary/saved-run.ts'
import { isCount } from '../vocabulary/shape.ts'
import { isCheckpoint } from './checkpoint-shape.ts'

/**
 * Returns a frozen copy of a checkpoint.
 * @throws {CheckpointCorruptError} The value is not a checkpoint, or is damaged.
 * @throws {CheckpointVersionError} A later version wrote it.
 */
export function checkedCheckpoint(value: unknown): Checkpoint {
  if (isRecord(value) && typeof value.format === 'number' && value.format > CHECKPOINT_FORMAT)
    throw new CheckpointVersionError(idOf(value), value.format, CHECKPOINT_FORMAT)
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value))
    if (isCheckpoint(copy) && isWhole(copy)) return freeze(copy)
  } catch (cause) {
    // For example, the value is circular or nested too deep.
    throw new CheckpointCorruptError(idOf(value), 'it is not readable JSON', { cause })
  }
  throw new CheckpointCorruptError(idOf(value), 'it is not a checkpoint, or is damaged')
}

/**
 * Returns the checkpoint from which an agent continues.
 * @param from - The checkpoint itself, or the id with which it is stored.
 * @param found - The same checkpoint, or what is stored with the id.
 * @param name - The name of the agent.
 * @throws {CheckpointCorruptError} The value is damaged, or not a checkpoint.
 * @throws {CheckpointVersionError} The checkpoint has a later format.
 * @throws {CheckpointMismatchError} The checkpoint belongs to another agent or another run.
 */
export function checkpointFrom(from: unknown, found: unknown, name: string | null = null): Checkpoint {
  if (typeof from !== 'string' && !isRecord(from))
    throw new CheckpointCorruptError('', `resume takes a checkpoint or the id of a stored one; this is ${kindOf(from)}`)
  const checkpoint = checkedCheckpoint(found)
  const { agent, runId } = checkpoint
  const id = idFrom(from)
  if (runId !== id) throw new CheckpointMismatchError(id, `it belongs to run ${runId}`)
  if (agent !== name)
    throw new CheckpointMismatchError(id, `it belongs to ${agentText(agent)}, but this is ${agentText(name)}`)
  return checkpoint
}

/** How a message names an agent. */
export const agentText = (agent: string | null = null): string =>
  agent === null ? 'an agent without a name' : `agent ${agent}`

/** Loads what is stored with an id. Throws {@link CheckpointMissingError} if that is nothing, and {@link ConfigError} without a store. */
export async function stored(store: CheckpointStore | undefined, id: string): Promise<unknown> {
  if (!store) throw new ConfigError('checkpoints', 'a store is required to resume a run by its id')
  const checkpoint = await loaded(store, id)
  if (checkpoint === undefined) throw new CheckpointMissingError(id)
  return checkpoint
}

/**
 * Whether the final answer of a run was accepted. If so, `agent.resume` returns the result without another step, and `agent.close` rejects the
 * checkpoint. Otherwise `agent.resume` continues the run. The open questions of a run are in the `interrupts` of its checkpoint.
 * @param checkpoint - A checkpoint from a result or a store. It is not checked for damage. If the value is not a checkpoint, the result is `false`.
 */
export function hasFinalAnswer(checkpoint: unknown): boolean {
  if (!isRecord(checkpoint)) return false
  const { status, steps } = checkpoint
  const step = isRecord(steps) && steps.current
  return status === 'completed' || (isRecord(step) && step.phase === 'over')
}

/** The result in the checkpoint of a completed run. */
export function resultIn({ result, messages, usage, warnings, steps }: Checkpoint): CompletedResult | undefined {
  return result && Object.freeze({ ...result, messages, usage, warnings, steps: steps.begun })
}

/** Returns the result in the checkpoint of a completed run, without a run; otherwise undefined. Throws what `agent.resume` throws for a damaged one. */
export function storedResult(checkpoint: unknown): CompletedResult | undefined {
  return resultIn(checkedCheckpoint(checkpoint))
}

/** The id of the run that a resume continues, from its checkpoint or the id itself; empty if the value is neither. */
export function idFrom(from: unknown): string {
  return typeof from === 'string' ? from : idOf(from)
}

function idOf(value: unknown): string {
  return isRecord(value) && typeof value.runId === 'string' ? value.runId : ''
}

/** Whether the format is that of this version, and the checksum is the one that the members had when they were written. */
function isWhole(checkpoint: Checkpoint): boolean {
  const { format, revision, checksum } = checkpoint
  return format === CHECKPOINT_FORMAT && isCount(revision) && checksumOf(checkpoint) === checksum
}

/** The checksum of all members except the revision. It detects damage, not manipulation. It does not depend on the order of the members. */
export function checksumOf(saved: Omit<Checkpoint, 'checksum'>): string {
  return hashOf({ ...saved, messages: saved.messages.map(messageHash), revision: undefined, checksum: undefined })
}

/** The checkpoint with its checksum. */
export function signed(checkpoint: Omit<Checkpoint, 'checksum'>): Checkpoint {
  return { ...checkpoint, checksum: checksumOf(checkpoint) }
}
