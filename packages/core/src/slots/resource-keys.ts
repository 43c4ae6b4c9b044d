/** What calls touch, by name: of calls that name the same key readers overlap and a writer runs alone, in call order (H14). */

import { unheard } from '../flow/unheard.ts'
import type { Tool } from '../tool.ts'

export interface ResourceKeys {
  readonly reads: ReadonlySet<string>
  readonly writes: ReadonlySet<string>
}

export const NO_KEYS: ResourceKeys = { reads: new Set(), writes: new Set() }

/** Whether calls of a tool may name keys at all. */
export function mayNameKeys(tool: Tool | undefined): boolean {
  return tool?.reads !== undefined || tool?.writes !== undefined
}

/**
 * What a call with this checked input names.
 *
 * @throws What the tool's own functions throw; a `TypeError` if they give anything but a list of strings.
 */
export function keysOf(tool: Tool, input: unknown): ResourceKeys {
  if (!mayNameKeys(tool)) return NO_KEYS
  return { reads: listed(tool.reads?.(input) ?? []), writes: listed(tool.writes?.(input) ?? []) }
}

export function namesNone({ reads, writes }: ResourceKeys): boolean {
  return reads.size + writes.size === 0
}

/** Whether one writes what the other names. */
export function keysMeet(one: ResourceKeys, other: ResourceKeys): boolean {
  return overlap(one.writes, other.writes) || overlap(one.writes, other.reads) || overlap(one.reads, other.writes)
}

/** Whether `keys` are all among `most`; to write is more than to read. */
export function withinKeys(keys: ResourceKeys, most: ResourceKeys): boolean {
  const reads = [...keys.reads].every((key) => most.reads.has(key) || most.writes.has(key))
  return reads && [...keys.writes].every((key) => most.writes.has(key))
}

export function allKeys(one: ResourceKeys, other: ResourceKeys): ResourceKeys {
  if (namesNone(one)) return other
  if (namesNone(other)) return one
  return { reads: new Set([...one.reads, ...other.reads]), writes: new Set([...one.writes, ...other.writes]) }
}

function listed(keys: unknown): ReadonlySet<string> {
  if (!Array.isArray(keys) || !keys.every((key) => typeof key === 'string')) {
    unheard(keys)
    throw new TypeError('resource keys must be a list of strings')
  }
  return new Set(keys)
}

function overlap(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  const [few, many] = some.size < others.size ? [some, others] : [others, some]
  for (const key of few) if (many.has(key)) return true
  return false
}
