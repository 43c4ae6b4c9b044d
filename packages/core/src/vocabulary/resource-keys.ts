/** The names of the resources that calls read and write. Calls that only read a key may overlap; while a call writes it, no other call uses it. */

export interface ResourceKeys {
  /** The keys that are read. */
  readonly reads: readonly string[]
  /** The keys that are written. */
  readonly writes: readonly string[]
}

/** No resource keys. */
export const NO_KEYS: ResourceKeys = { reads: [], writes: [] }

/** Whether there is no resource key. */
export function namesNone({ reads, writes }: ResourceKeys): boolean {
  return reads.length + writes.length === 0
}

/** Whether one call writes a key that the other one reads or writes. */
export function keysMeet(one: ResourceKeys, other: ResourceKeys): boolean {
  return overlap(one.writes, other.writes) || overlap(one.writes, other.reads) || overlap(one.reads, other.writes)
}

/** Whether `most` allows all `keys`. A key that may be written may also be read. */
export function withinKeys(keys: ResourceKeys, most: ResourceKeys): boolean {
  const reads = keys.reads.every((key) => most.reads.includes(key) || most.writes.includes(key))
  return reads && keys.writes.every((key) => most.writes.includes(key))
}

export function unionOf(one: ResourceKeys, other: ResourceKeys): ResourceKeys {
  if (namesNone(one)) return other
  if (namesNone(other)) return one
  return { reads: [...new Set([...one.reads, ...other.reads])], writes: [...new Set([...one.writes, ...other.writes])] }
}

function overlap(some: readonly string[], others: readonly string[]): boolean {
  if (some.length * others.length < 64) return some.some((key) => others.includes(key))
  const keys = new Set(others)
  return some.some((key) => keys.has(key))
}
