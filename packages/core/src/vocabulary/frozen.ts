/** Freezes or copies the values that user code receives, so that it cannot change the run. */

import { asJson, isPlain } from './json.ts'

/** Freezes lists and plain objects to their leaves. What is of a class stays as it is, and what is frozen is taken to be so throughout. */
export function freezePlain<Value>(value: Value): Value {
  const open: unknown[] = [value]
  while (open.length > 0) {
    const one = open.pop()
    if (!isPlain(one) || Object.isFrozen(one)) continue
    for (const member of Object.values(Object.freeze(one))) open.push(member)
  }
  return value
}

/** A copy, if the value is JSON; anything else as it is. */
export function copyOfJson<Value>(value: Value): Value {
  try {
    asJson(value, '')
  } catch {
    return value
  }
  return structuredClone(value)
}

/** A set as those see it who may only read it: it goes on changing, and not by them. */
export class ReadOnlySet<Item> implements ReadonlySet<Item> {
  readonly #items: ReadonlySet<Item>

  constructor(items: ReadonlySet<Item>) {
    this.#items = items
    Object.freeze(this)
  }

  get size(): number {
    return this.#items.size
  }

  has(item: Item): boolean {
    return this.#items.has(item)
  }

  forEach(act: (item: Item, same: Item, set: ReadonlySet<Item>) => void): void {
    for (const item of this) act(item, item, this)
  }

  entries(): SetIterator<[Item, Item]> {
    return this.#items.entries()
  }

  keys(): SetIterator<Item> {
    return this.#items.keys()
  }

  values(): SetIterator<Item> {
    return this.#items.values()
  }

  [Symbol.iterator](): SetIterator<Item> {
    return this.#items.values()
  }
}
