/** What a call does to the world, and to what: judged by its checked input. */

import { messageOf } from './errors.ts'
import { keysOf, NO_KEYS, type ResourceKeys, withinKeys } from './resource-keys.ts'
import { type Effect, effectOf, exceeds, type Tool } from './tool.ts'

export interface CallEffect {
  readonly effect: Effect
  readonly keys: ResourceKeys
  /** What the tool's own functions threw. */
  readonly problem?: string
}

/** Never throws: a throw of `effect`, `reads` or `writes` counts as `external` without keys (H4). */
export function judgeCall(tool: Tool, input: unknown): CallEffect {
  try {
    return { effect: effectOf(tool, input), keys: keysOf(tool, input) }
  } catch (error) {
    return { effect: 'external', keys: NO_KEYS, problem: messageOf(error) }
  }
}

/** Whether a call does no more, and to no more, than it was judged to. */
export function isWithin(
  { effect, keys }: CallEffect,
  ceiling: Effect | undefined,
  most: ResourceKeys | undefined,
): boolean {
  return (!ceiling || !exceeds(effect, ceiling)) && (!most || withinKeys(keys, most))
}
