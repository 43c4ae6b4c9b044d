/** Computes short, stable hashes of texts and values: 53 bits (cyrb53). They distinguish values and detect damage; they are not for security. */

/** Returns the hash of a text. */
export function hash(text: string): string {
  return sumOf([text])
}

/** Returns the hash of a JSON value. The order of members does not matter, and an undefined member counts as absent. */
export function hashOf(value: unknown): string {
  const texts: string[] = []
  addTexts(texts, value)
  return sumOf(texts)
}

/** Adds the texts in the value itself. Its JSON text would be a copy of a long history. */
function addTexts(texts: string[], value: unknown): void {
  if (typeof value === 'string') texts.push(`"${value.length}"`, value)
  else if (Array.isArray(value)) {
    texts.push(`[${value.length}]`)
    for (const item of value) addTexts(texts, item)
  } else if (typeof value === 'object' && value !== null) {
    const members = sortedMembers(value)
    texts.push(`{${members.length}}`)
    for (const part of members.flat()) addTexts(texts, part)
  } else texts.push(`${String(value)};`)
}

/** The members of an object that are defined, in the order of their names. */
export function sortedMembers(object: object): [key: string, member: unknown][] {
  const members = Object.entries(object).filter(([, member]) => member !== undefined)
  return members.sort(([a], [b]) => (a < b ? -1 : 1))
}

function sumOf(texts: readonly string[]): string {
  let a = 0xdeadbeef
  let b = 0x41c6ce57
  for (const text of texts) {
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      a = Math.imul(a ^ code, 2654435761)
      b = Math.imul(b ^ code, 1597334677)
    }
  }
  const low = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
  const high = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  return (4294967296 * (2097151 & high) + (low >>> 0)).toString(36)
}
