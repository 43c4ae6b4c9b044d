/** A set as those see it who may only read it: it goes on changing, and not by them (P15). */
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
