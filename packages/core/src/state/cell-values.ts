/** Holds the values of run-local cells that are part of a checkpoint. */

import { ConfigError } from '../vocabulary/errors.ts'
import type { Json } from '../vocabulary/message.ts'

/** The cell values of a run, by key. After the run is over it holds none. */
export class CellValues {
  readonly #owners: Map<string, object> = new Map()
  #values: Map<string, Json> = new Map()
  #isOver: boolean

  constructor(isOver: boolean) {
    this.#isOver = isOver
  }

  claim(key: string, owner: object): void {
    const first = this.#owners.get(key) ?? owner
    if (first !== owner) throw new ConfigError('runLocal', `two values have the key "${key}"`)
    this.#owners.set(key, owner)
  }

  get(key: string): Json | undefined {
    return this.#values.get(key)
  }

  set(key: string, value: Json): void {
    if (!this.#isOver) this.#values.set(key, value)
  }

  delete(key: string): void {
    this.#values.delete(key)
  }

  over(): void {
    this.#isOver = true
    this.#values.clear()
  }

  save(): { readonly [key: string]: Json } {
    return Object.fromEntries(this.#values)
  }

  restore(values: { readonly [key: string]: Json }): void {
    this.#values = new Map(Object.entries(values))
  }
}
