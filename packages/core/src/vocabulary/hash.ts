/** Computes short, stable hashes of texts and values: 53 bits (cyrb53). They distinguish values and detect damage; they are not for security. */

/** Returns the hash of a text. */
export function hash(text: string): string {
  const sum = new Sum()
  sum.add(text)
  return sum.text
}

/** Returns the hash of a JSON value. The order of members does not matter, and an undefined member counts as absent. */
export function hashOf(value: unknown): string {
  const sum = new Sum()
  addValue(sum, value)
  return sum.text
}

/** Adds each part of the value, without writing the value as one JSON text: that would be slow for a long history. */
function addValue(sum: Sum, value: unknown): void {
  if (typeof value === 'string') {
    sum.add(`"${value.length}"`)
    sum.add(value)
  } else if (Array.isArray(value)) {
    sum.add(`[${value.length}]`)
    for (const item of value) addValue(sum, item)
  } else if (typeof value === 'object' && value !== null) {
    const members = sortedMembers(value)
    sum.add(`{${members.length}}`)
    for (const [key, member] of members) {
      addValue(sum, key)
      addValue(sum, member)
    }
  } else sum.add(`${String(value)};`)
}

/** The members of an object that are defined, in the order of their names. */
export function sortedMembers(object: object): [key: string, member: unknown][] {
  const members = Object.entries(object).filter(([, member]) => member !== undefined)
  return members.sort(([a], [b]) => (a < b ? -1 : 1))
}

class Sum {
  #a = 0xdeadbeef
  #b = 0x41c6ce57

  add(text: string): void {
    let a = this.#a
    let b = this.#b
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      a = Math.imul(a ^ code, 2654435761)
      b = Math.imul(b ^ code, 1597334677)
    }
    this.#a = a
    this.#b = b
  }

  get text(): string {
    const [a, b] = [this.#a, this.#b]
    const low = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
    const high = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
    return (4294967296 * (2097151 & high) + (low >>> 0)).toString(36)
  }
}
