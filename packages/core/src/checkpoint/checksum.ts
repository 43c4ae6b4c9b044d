/** The checksum of a checkpoint: it tells damage, not malice. */

import { hashOf } from '../vocabulary/hash.ts'
import type { Checkpoint } from '../vocabulary/saved-run.ts'

/** Of all members except the revision. It does not depend on the order of the members. */
export function checksumOf(checkpoint: object): string {
  return hashOf({ ...checkpoint, revision: undefined, checksum: undefined })
}

/** The checkpoint with its checksum. */
export function signed(checkpoint: Omit<Checkpoint, 'checksum'>): Checkpoint {
  return { ...checkpoint, checksum: checksumOf(checkpoint) }
}
