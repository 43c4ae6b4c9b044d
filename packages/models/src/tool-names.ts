/** The names that calls may have. They distinguish a name that comes in pieces from one that is repeated (qC47). */

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

  /** Whether more of the name may follow. `false` if it is a tool's name and no longer tool name begins with it. */
  mayGrow(name: string): boolean {
    return !this.has(name) || this.#begins(name, name.length + 1)
  }

  /**
   * The name with its next `piece`, or `piece` itself if it repeats the name so far; `undefined` if no tool's name
   * begins like this.
   */
  grown(name: string, piece: string): string | undefined {
    // In this order, because the beginning of a tool's name is short.
    return [name + piece, piece].find((longer) => this.#begins(longer) && longer.startsWith(name))
  }

  #begins(start: string, length = start.length): boolean {
    if (length > this.#longest) return false
    for (const name of this.#names) if (name.length >= length && name.startsWith(start)) return true
    return false
  }
}
