/** Computes the checksum of a checkpoint: it detects damage, not manipulation. */

import { hashOf } from '../vocabulary/hash.ts'
import { messageHash } from '../vocabulary/history.ts'
import type { Checkpoint } from '../vocabulary/saved-run.ts'

/** The checksum of all members except the revision. It does not depend on the order of the members. */
export function checksumOf(saved: Omit<Checkpoint, 'checksum'>): string {
  return hashOf({ ...saved, messages: saved.messages.map(messageHash), revision: undefined, checksum: undefined })
}

/** The checkpoint with its checksum. */
export function signed(checkpoint: Omit<Checkpoint, 'checksum'>): Checkpoint {
  return { ...checkpoint, checksum: checksumOf(checkpoint) }
}
