/** When a call that a failed attempt left behind cannot stand in for an equal one. */

import { keysMeet, namesNone, type ResourceKeys } from '../machine/resource-keys.ts'
import type { Tool } from '../tool.ts'
import { mayNameKeys } from './call-effect.ts'
import type { CallEntry } from './call-entry.ts'
import type { CallRecord } from './call-record.ts'

/** A call that stands in front: what is known of it before it was made is its tool alone. */
interface InFront {
  readonly tool: Tool | undefined
  /** Its effect: once its function was entered. */
  readonly record?: Pick<CallRecord, 'effect'>
  readonly keys?: ResourceKeys | undefined
}

/**
 * Whether a read has seen what was there before a write that now stands in front of it: one it must come after, because there is
 * one slot or because they name the same key. An effect is never made twice, whatever stands in front of it now (H26).
 */
export function isStale(read: CallEntry, inFront: readonly InFront[], oneSlot: boolean): boolean {
  if (read.record.effect !== 'read') return false
  // A checkpoint does not say what it has read.
  const seen = read.keys
  return inFront.some(({ tool, record, keys }) => {
    if (!tool || (record?.effect ?? tool.effect) === 'read') return false
    if (oneSlot) return true
    if (seen && namesNone(seen)) return false
    return keys && seen ? keysMeet(keys, seen) : mayNameKeys(tool)
  })
}
