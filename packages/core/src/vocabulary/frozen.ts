/** Freezes or copies the values that user code receives, so that it cannot change the run. */

import { asJson, isPlain } from './json.ts'

/** Freezes lists and plain objects with everything inside. Skips instances of classes, and values that are already frozen. */
export function freezePlain<Value>(value: Value): Value {
  const open: unknown[] = [value]
  while (open.length > 0) {
    const one = open.pop()
    if (!isPlain(one) || Object.isFrozen(one)) continue
    for (const member of Object.values(Object.freeze(one))) open.push(member)
  }
  return value
}

/** Returns a copy of a value that is JSON, and any other value unchanged. */
export function copyOfJson<Value>(value: Value): Value {
  try {
    asJson(value, '')
  } catch {
    return value
  }
  return structuredClone(value)
}

/** Returns a read-only view of a set. It shows later changes of that set. */
export function readOnly<Item>(set: ReadonlySet<Item>): ReadonlySet<Item> {
  const view: ReadonlySet<Item> = {
    get size() {
      return set.size
    },
    has: (item) => set.has(item),
    forEach(act) {
      for (const item of set) act(item, item, view)
    },
    entries: () => set.entries(),
    keys: () => set.values(),
    values: () => set.values(),
    [Symbol.iterator]: () => set.values(),
  }
  return Object.freeze(view)
}
