/** JSON of bounded size, whatever it is made of: what does not fit is cut or left out, and it stays valid. */

/** Characters of one string, at the most. */
const STRING = 8_192
/** Characters of JSON in all, but for the last string. */
const WHOLE = 65_536
const DEPTH = 32
const CUT = '…'

interface Room {
  left: number
}

/** Absent if JSON has nothing for it. May throw what a getter or `toJSON` of the value throws. */
export function boundedJson(value: unknown): string | undefined {
  return JSON.stringify(bounded(value, { left: WHOLE }, 0))
}

/** As many of a list as fit, the last first; `omitted` stands for those before them. */
export function boundedList(list: readonly unknown[], omitted: (count: number) => unknown): string {
  const room = { left: WHOLE }
  const kept: unknown[] = []
  let first = list.length
  while (first > 0 && room.left > 0) kept.push(bounded(list[--first], room, 1))
  if (first > 0) kept.push(omitted(first))
  return JSON.stringify(kept.reverse())
}

export function boundedText(text: string): string {
  return cut(text, { left: STRING })
}

function bounded(value: unknown, room: Room, depth: number): unknown {
  if (typeof value === 'string') return cut(value, room)
  if (typeof value === 'bigint') return cut(String(value), room)
  if (typeof value !== 'object' || value === null) return charged(value, room)
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `${value.byteLength} bytes`
  if (depth > DEPTH) return CUT
  room.left -= 3
  if ('toJSON' in value && typeof value.toJSON === 'function') return bounded(value.toJSON(), room, depth + 1)
  return Array.isArray(value) ? items(value, room, depth + 1) : members(value, room, depth + 1)
}

function items(list: readonly unknown[], room: Room, depth: number): unknown[] {
  const kept: unknown[] = []
  for (const item of list) {
    if (room.left <= 0) return [...kept, CUT]
    kept.push(bounded(item, room, depth))
  }
  return kept
}

function members(object: object, room: Room, depth: number): Record<string, unknown> {
  // Without a prototype `__proto__` is a member like any other.
  const kept: Record<string, unknown> = Object.create(null)
  for (const [key, value] of Object.entries(object)) {
    if (room.left <= 0) {
      kept[CUT] = CUT
      break
    }
    kept[cut(key, room)] = bounded(value, room, depth)
  }
  return kept
}

function cut(text: string, room: Room): string {
  const most = Math.max(0, Math.min(STRING, room.left))
  // Not between the halves of a character.
  const kept = text.length > most ? text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '') + CUT : text
  return charged(kept, room)
}

/** What it takes in JSON, escapes and all, and what stands beside it. */
function charged<Value>(value: Value, room: Room): Value {
  room.left -= (JSON.stringify(value)?.length ?? 0) + 1
  return value
}
