/** Measures the size of a value as JSON and writes its text, without recursion, so that values of any depth work. */

/** The depth of nesting that JavaScript engines can parse and write even if the stack is nearly full. */
export const DEEPEST = 512

/** The maximum length of a text, in characters. A value that contains one part many times can have a text that no machine can store. */
export const LONGEST: number = 64 * 1024 * 1024

export interface Extent {
  /** The minimum length of the JSON text: a number counts as one character, and so does an escape sequence. */
  readonly characters: number
  /** How deep objects and lists are nested; 0 for a text. */
  readonly levels: number
}

/** The extent of a circular value. */
const ENDLESS: Extent = { characters: Number.POSITIVE_INFINITY, levels: Number.POSITIVE_INFINITY }

/** A value with more levels counts as endless: its `toJSON` methods may create new objects without end. */
const MOST_LEVELS = 200_000

/** An object or list that is being measured, or has been measured. */
interface Part {
  /** Its members that are objects or lists. The characters of the other members are already counted. */
  readonly inside: readonly object[]
  next: number
  characters: number
  levels: number
}

/**
 * Measures a value in time linear in its size: a part that occurs several times is measured once and counted each time. Throws what a getter, a
 * `toJSON` or `look` throws. `look` is called with each object as JSON would contain it: the result of its `toJSON`, if it has one.
 */
export function extentOf(value: unknown, look?: (shown: unknown) => void): Extent {
  if (!isObject(value)) return { characters: charactersOf(value), levels: 0 }
  const whole = partOf(value, look)
  if (whole.inside.length === 0) return { characters: whole.characters, levels: whole.levels }
  const parts = new Map<object, Part>([[value, whole]])
  const open = [whole]
  for (let part = open[0]; part; part = open.at(-1)) {
    const member = part.inside[part.next]
    if (!member) {
      open.pop()
      continue
    }
    const known = parts.get(member)
    const inner = known ?? partOf(member, look)
    if (!known) parts.set(member, inner)
    if (inner.next < inner.inside.length) {
      // The value is circular, or its `toJSON` methods create new objects without end.
      if (known || open.length >= MOST_LEVELS) return ENDLESS
      open.push(inner)
    } else {
      part.next++
      part.characters += inner.characters
      part.levels = Math.max(part.levels, inner.levels + 1)
    }
  }
  const { characters, levels } = whole
  return { characters, levels }
}

/** Also true for a list. */
export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** The length of a value that is not an object. */
function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  return typeof value === 'number' ? 1 : 4
}

const NOTHING: readonly object[] = []

function partOf(object: object, look?: (shown: unknown) => void): Part {
  const shown = shownBy(object)
  if (shown !== object) look?.(object)
  look?.(shown)
  if (!isObject(shown)) return { inside: NOTHING, next: 0, characters: charactersOf(shown), levels: 0 }
  // `Object.keys` would list each byte, which is slow.
  if (ArrayBuffer.isView(shown)) return { inside: NOTHING, next: 0, characters: shown.byteLength * 4, levels: 1 }
  let inside: object[] | undefined
  let characters = 1
  const add = (member: unknown) => {
    characters++
    if (!isObject(member)) characters += charactersOf(member)
    else if (inside) inside.push(member)
    else inside = [member]
  }
  if (Array.isArray(shown)) for (let i = 0; i < shown.length; i++) add(shown[i])
  else {
    for (const key of Object.keys(shown)) {
      const member: unknown = shown[key as keyof typeof shown]
      if (!isWritten(member)) continue
      characters += key.length + 3
      add(member)
    }
  }
  return { inside: inside ?? NOTHING, next: 0, characters: Math.max(characters, 2), levels: 1 }
}

/** Returns the result of the object's `toJSON`, or the object if it has none. */
function shownBy(object: object): unknown {
  return 'toJSON' in object && typeof object.toJSON === 'function' ? object.toJSON('') : object
}

function isWritten(member: unknown): boolean {
  return member !== undefined && typeof member !== 'function' && typeof member !== 'symbol'
}

type Members = readonly (readonly [key: string, member: unknown])[]

function membersOf(object: object): Members {
  return Object.entries(object).filter(([, member]) => isWritten(member))
}

/** Returns the JSON text of a value of this extent; `undefined` if JSON cannot represent it. Throws if it is circular or contains a bigint. */
export function jsonText(value: unknown, { levels }: Extent = extentOf(value)): string | undefined {
  if (levels === Number.POSITIVE_INFINITY) throw new TypeError('Converting circular structure to JSON')
  return levels <= DEEPEST ? JSON.stringify(value) : written(value, (leaf) => JSON.stringify(leaf) ?? 'null', membersOf)
}

/** Writes a value as JSON. The caller decides how leaves are written, and which members an object has, in which order. */
export function written(
  value: unknown,
  leaf: (value: unknown) => string,
  members: (object: object) => Members,
): string {
  let text = ''
  /** A stack: texts to append, and values to write. */
  const left: (string | { readonly value: unknown })[] = [{ value }]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next === 'string') text += next
    else if (!isObject(next.value) || 'toJSON' in next.value) text += leaf(next.value)
    else if (Array.isArray(next.value)) {
      text += '['
      left.push(']')
      for (let i = next.value.length - 1; i >= 0; i--) {
        left.push({ value: next.value[i] })
        if (i > 0) left.push(',')
      }
    } else {
      const own = members(next.value)
      text += '{'
      left.push('}')
      for (let i = own.length - 1; i >= 0; i--) {
        const [key, value] = own[i] ?? ['', undefined]
        left.push({ value }, `${i > 0 ? ',' : ''}${JSON.stringify(key)}:`)
      }
    }
  }
  return text
}
