/** Writes JSON of bounded size for any value: what does not fit is cut or left out, and the JSON stays valid. */

/** The most characters of one string. */
const STRING = 8_192
/** The most characters of JSON in total, except for the last string. */
const WHOLE = 65_536
/** The least room of an item that must keep its form, so that only its text is cut. */
const ITEM = 256
const DEPTH = 32
const CUT = '…'

interface Room {
  left: number
}

/** A list whose readers know the form of its items: only texts inside an item are cut, and one more item stands for those left out. */
export interface ListForm {
  /** Whether the first items are kept or, as for a history, the last. */
  readonly keeps: 'first' | 'last'
  /** Members of an item that have such a form themselves. */
  readonly lists?: ReadonlyMap<string, ListForm>
  omitted(count: number): unknown
  /** Replaces an item that does not fit. Without it, such an item is cut. */
  brief?(item: unknown): unknown
}

/** Absent if the value cannot be written as JSON. May throw what a getter or `toJSON` of the value throws. */
export function boundedJson(value: unknown): string | undefined {
  return JSON.stringify(bounded(value, { left: WHOLE }, 0))
}

export function boundedList(list: readonly unknown[], form: ListForm): string {
  return JSON.stringify(formed(list, form, { left: WHOLE }, 0))
}

export function boundedText(text: string): string {
  return cut(text, { left: STRING })
}

function formed(list: readonly unknown[], form: ListForm, room: Room, depth: number): unknown[] {
  const isLast = form.keeps === 'last'
  const kept: unknown[] = []
  while (kept.length < list.length && room.left > 0) {
    const item = list[isLast ? list.length - 1 - kept.length : kept.length]
    kept.push(inForm(item, form, room, depth + 1))
  }
  if (kept.length < list.length) kept.push(form.omitted(list.length - kept.length))
  return isLast ? kept.reverse() : kept
}

function inForm(item: unknown, { lists, brief }: ListForm, room: Room, depth: number): unknown {
  const most = Math.max(room.left, ITEM)
  const own = { left: most }
  const whole = bounded(item, own, depth, lists)
  if (!brief || own.left > 0) {
    room.left -= most - own.left
    return whole
  }
  const short = { left: ITEM }
  const instead = bounded(brief(item), short, depth)
  room.left -= ITEM - short.left
  return instead
}

function bounded(value: unknown, room: Room, depth: number, lists?: ReadonlyMap<string, ListForm>): unknown {
  if (typeof value === 'string') return cut(value, room)
  if (typeof value === 'bigint') return cut(String(value), room)
  if (typeof value !== 'object' || value === null) return charged(value, room)
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return charged(`${value.byteLength} bytes`, room)
  if (depth > DEPTH) return charged(CUT, room)
  room.left -= 3
  if ('toJSON' in value && typeof value.toJSON === 'function') return bounded(value.toJSON(), room, depth + 1)
  return Array.isArray(value) ? items(value, room, depth + 1) : members(value, room, depth + 1, lists)
}

function items(list: readonly unknown[], room: Room, depth: number): unknown[] {
  const kept: unknown[] = []
  for (const item of list) {
    if (room.left <= 0) return [...kept, CUT]
    kept.push(bounded(item, room, depth))
  }
  return kept
}

function members(
  object: object,
  room: Room,
  depth: number,
  lists?: ReadonlyMap<string, ListForm>,
): Record<string, unknown> {
  // Without a prototype `__proto__` is a member like any other.
  const kept: Record<string, unknown> = Object.create(null)
  for (const [key, value] of Object.entries(object)) {
    if (room.left <= 0) {
      kept[CUT] = CUT
      break
    }
    const form = lists?.get(key)
    kept[cut(key, room)] = form && Array.isArray(value) ? formed(value, form, room, depth) : bounded(value, room, depth)
  }
  return kept
}

function cut(text: string, room: Room): string {
  const most = Math.max(0, Math.min(STRING, room.left))
  // Not between the two halves of a surrogate pair.
  const kept = text.length > most ? text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '') + CUT : text
  return charged(kept, room)
}

/** Charges the length of the value as JSON, including escapes and separators. In a list `null` replaces a value without JSON. */
function charged<Value>(value: Value, room: Room): Value {
  room.left -= (JSON.stringify(value)?.length ?? 'null'.length) + 1
  return value
}
