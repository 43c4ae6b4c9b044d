/** When a call that a failed attempt left behind cannot stand in for an equal one. */

import type { CallEntry } from './call-entry.ts'
import { keysMeet, mayNameKeys, NO_KEYS, namesNone, type ResourceKeys } from './resource-keys.ts'
import type { Effect, Tool } from './tool.ts'

/** A call that stands in front: what is known of it before it was made is its tool alone. */
interface InFront {
  readonly tool: Tool | undefined
  readonly effect?: Effect | undefined
  readonly keys?: ResourceKeys | undefined
}

/**
 * Whether a read has seen what was there before a write that now stands in front of it: one it must come after, because there is
 * one slot or because they name the same key. An effect is never made twice, whatever stands in front of it now (H26).
 */
export function isStale(read: CallEntry, inFront: readonly InFront[], oneSlot: boolean): boolean {
  if (!read.entered || read.effect !== 'read') return false
  const seen = read.keys ?? NO_KEYS
  return inFront.some(({ tool, effect, keys }) => {
    if (!tool || (effect ?? tool.effect) === 'read') return false
    if (oneSlot) return true
    return keys ? keysMeet(keys, seen) : mayNameKeys(tool) && !namesNone(seen)
  })
}
