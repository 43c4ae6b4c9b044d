/** Compares the arguments of calls regardless of white space and the order of keys. */

/**
 * The arguments in canonical form. Text that cannot be parsed, or is nested too deeply to run, is returned unchanged.
 */
export function canonicalArguments(text: string): string {
  try {
    return JSON.stringify(sorted(unwrapped(text), MAX_LEVELS))
  } catch {
    return text
  }
}

/** Whether the texts mean the same arguments. */
export function sameArguments(text: string, other: string): boolean {
  return text === other || canonicalArguments(text) === canonicalArguments(other)
}

/** More levels than tools accept by default. */
const MAX_LEVELS = 1_000

/** The parsed value; also of JSON that was encoded twice (qC18). */
function unwrapped(text: string): unknown {
  const value: unknown = text.trim() === '' ? {} : JSON.parse(text)
  return typeof value === 'string' ? JSON.parse(value) : value
}

function sorted(value: unknown, levels: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (levels === 0) throw new RangeError('too deep')
  if (Array.isArray(value)) return value.map((item) => sorted(item, levels - 1))
  const members = Object.entries(value).map(([key, member]) => [key, sorted(member, levels - 1)] as const)
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)))
}
