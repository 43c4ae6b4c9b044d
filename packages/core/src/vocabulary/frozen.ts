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

/** A read-only view of the set that a function returns. It shows later changes of that set. */
export class ReadOnlySet<Item> implements ReadonlySet<Item> {
  readonly #items: () => ReadonlySet<Item>

  constructor(items: () => ReadonlySet<Item>) {
    this.#items = items
    Object.freeze(this)
  }

  get size(): number {
    return this.#items().size
  }

  has(item: Item): boolean {
    return this.#items().has(item)
  }

  forEach(act: (item: Item, same: Item, set: ReadonlySet<Item>) => void): void {
    for (const item of this) act(item, item, this)
  }

  entries(): SetIterator<[Item, Item]> {
    return this.#items().entries()
  }

  keys(): SetIterator<Item> {
    return this.#items().keys()
  }

  values(): SetIterator<Item> {
    return this.#items().values()
  }

  [Symbol.iterator](): SetIterator<Item> {
    return this.#items().values()
  }
}
