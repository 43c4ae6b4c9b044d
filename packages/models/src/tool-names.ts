/** What a name is that comes in pieces, or again: the names that calls may have say which (qC47). */

import type { ModelRequest } from '@meanwhile/core'

export class ToolNames {
  readonly #names: ReadonlySet<string>
  readonly #longest: number

  constructor({ tools, toolNames = [] }: Pick<ModelRequest, 'tools'> & { readonly toolNames?: Iterable<string> }) {
    this.#names = new Set([...tools.map(({ name }) => name), ...toolNames])
    this.#longest = Math.max(0, ...[...this.#names].map(({ length }) => length))
  }

  has(name: string): boolean {
    return name.length <= this.#longest && this.#names.has(name)
  }

  /** Whether this may be the beginning of another name: only that of a tool, which begins no other tool's, is not. */
  mayGrow(name: string): boolean {
    return !this.has(name) || this.#begins(name, name.length + 1)
  }

  /** The name as it has grown by `piece`, which is its next piece, or all of it so far: one that a tool's begins with. */
  grown(name: string, piece: string): string | undefined {
    // In this order: what begins a tool's name is short.
    return [name + piece, piece].find((longer) => this.#begins(longer) && longer.startsWith(name))
  }

  #begins(start: string, length = start.length): boolean {
    if (length > this.#longest) return false
    for (const name of this.#names) if (name.length >= length && name.startsWith(start)) return true
    return false
  }
}
