/** What a call does to the world, and to what: judged by its checked input. */

import { messageOf } from '../errors.ts'
import { keysOf, NO_KEYS, type ResourceKeys, withinKeys } from '../slots/resource-keys.ts'
import { type Effect, effectOf, exceeds, type Tool } from '../tool.ts'

export interface CallEffect {
  readonly effect: Effect
  readonly keys: ResourceKeys
  /** What the tool's own functions threw. */
  readonly problem?: string
}

/** What a call may do and touch, at the most; absent: anything. */
export interface Bounds {
  readonly effect?: Effect | undefined
  readonly keys?: ResourceKeys | undefined
}

/** Never throws: a throw of `effect`, `reads` or `writes` counts as `external` without keys (H4). */
export function judgeCall(tool: Tool, input: unknown): CallEffect {
  try {
    return { effect: effectOf(tool, input), keys: keysOf(tool, input) }
  } catch (error) {
    return { effect: 'external', keys: NO_KEYS, problem: messageOf(error) }
  }
}

/** Whether a call does no more, and to no more, than it may. */
export function isWithin({ effect, keys }: CallEffect, most: Bounds): boolean {
  return (!most.effect || !exceeds(effect, most.effect)) && (!most.keys || withinKeys(keys, most.keys))
}
