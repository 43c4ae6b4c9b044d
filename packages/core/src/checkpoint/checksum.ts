/** Computes the checksum of a checkpoint: it detects damage, not manipulation. */

import { hashOf } from '../vocabulary/hash.ts'
import type { Checkpoint } from '../vocabulary/saved-run.ts'

/** The checksum of all members except the revision. It does not depend on the order of the members. */
export function checksumOf(checkpoint: object): string {
  return hashOf({ ...checkpoint, revision: undefined, checksum: undefined })
}

/** The checkpoint with its checksum. */
export function signed(checkpoint: Omit<Checkpoint, 'checksum'>): Checkpoint {
  return { ...checkpoint, checksum: checksumOf(checkpoint) }
}
