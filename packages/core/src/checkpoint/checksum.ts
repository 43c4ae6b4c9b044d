/** The checksum of a checkpoint: it tells damage, not malice. */

import { hashOf } from '../vocabulary/hash.ts'
import type { Checkpoint } from '../vocabulary/saved-run.ts'

/** Whatever the order of its members is by now. */
export function checksumOf(checkpoint: object): string {
  return hashOf({ ...checkpoint, revision: undefined, checksum: undefined })
}

/** With the checksum of what it holds. */
export function signed(checkpoint: Omit<Checkpoint, 'checksum'>): Checkpoint {
  return { ...checkpoint, checksum: checksumOf(checkpoint) }
}
