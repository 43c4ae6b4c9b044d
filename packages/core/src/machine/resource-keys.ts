/** Sets of resource keys: what calls read and write, by name. Readers of one key overlap; a writer runs without the others. */

export interface ResourceKeys {
  readonly reads: ReadonlySet<string>
  readonly writes: ReadonlySet<string>
}

export const NO_KEYS: ResourceKeys = { reads: new Set(), writes: new Set() }

export function namesNone({ reads, writes }: ResourceKeys): boolean {
  return reads.size + writes.size === 0
}

/** Whether one writes what the other reads or writes. */
export function keysMeet(one: ResourceKeys, other: ResourceKeys): boolean {
  return overlap(one.writes, other.writes) || overlap(one.writes, other.reads) || overlap(one.reads, other.writes)
}

/** Whether `keys` are all among `most`. Who may write a key may read it. */
export function withinKeys(keys: ResourceKeys, most: ResourceKeys): boolean {
  const reads = [...keys.reads].every((key) => most.reads.has(key) || most.writes.has(key))
  return reads && [...keys.writes].every((key) => most.writes.has(key))
}

export function allKeys(one: ResourceKeys, other: ResourceKeys): ResourceKeys {
  if (namesNone(one)) return other
  if (namesNone(other)) return one
  return { reads: new Set([...one.reads, ...other.reads]), writes: new Set([...one.writes, ...other.writes]) }
}

function overlap(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  const [few, many] = some.size < others.size ? [some, others] : [others, some]
  for (const key of few) if (many.has(key)) return true
  return false
}
