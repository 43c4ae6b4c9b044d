/** Finds the members that a tool needs to start in arguments that are still streaming. */

import type { OnMember } from './json-members.ts'

/**
 * Collects the needed members. It must receive each delta before the scanner does, and receives each member from the scanner. It stores only the text
 * of the current member, joins each piece once, and decodes only keys and needed members.
 */
export class NeededMembers {
  readonly #needs: readonly string[]
  /** Members that end after this number of code units do not count. */
  readonly #limit: number
  readonly #keys = new Set<string>()
  readonly #values = new Map<string, unknown>()
  /** The text from the offset `#from` on. */
  #text: string[] = []
  #from = 0
  #length = 0
  /** The offset after the last member: earlier text is no longer stored. */
  #behind = 0
  /** Whether all members are found, or the text cannot have them. */
  #over = false

  constructor(needs: readonly string[], limit: number) {
    this.#needs = needs
    this.#limit = limit
  }

  /** The needed members, when all are complete. `undefined` before that, and if a key occurs twice or a member is not JSON. */
  get input(): Readonly<Record<string, unknown>> | undefined {
    if (this.#values.size < this.#needs.length) return undefined
    // `fromEntries` also sets a key `__proto__`, an assignment would not.
    return Object.fromEntries(this.#needs.map((key) => [key, this.#values.get(key)]))
  }

  add(delta: string): void {
    if (this.#length > this.#limit) this.#end()
    if (this.#over) return
    this.#length += delta.length
    if (this.#behind > this.#from) {
      this.#text = [this.#joined().slice(this.#behind - this.#from)]
      this.#from = this.#behind
    }
    this.#text.push(delta)
  }

  readonly onMember: OnMember = (key, value) => {
    if (value.end > this.#limit) this.#end()
    if (this.#over) return
    this.#behind = value.end
    const name = this.#decoded(key.start, key.end)
    if (typeof name !== 'string' || this.#keys.has(name)) return this.#disqualify()
    this.#keys.add(name)
    if (!this.#needs.includes(name)) return
    const member = this.#decoded(value.start, value.end)
    if (member === undefined) return this.#disqualify()
    this.#values.set(name, member)
    if (this.#values.size === this.#needs.length) this.#end()
  }

  /** Returns `undefined` if it is not JSON. */
  #decoded(start: number, end: number): unknown {
    try {
      return JSON.parse(this.#joined().slice(start - this.#from, end - this.#from))
    } catch {
      return undefined
    }
  }

  #joined(): string {
    if (this.#text.length > 1) this.#text = [this.#text.join('')]
    return this.#text[0] ?? ''
  }

  #disqualify(): void {
    this.#values.clear()
    this.#end()
  }

  #end(): void {
    this.#over = true
    this.#text = []
    this.#keys.clear()
  }
}
