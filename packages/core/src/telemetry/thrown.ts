/** What a thrown error says of itself: it may throw when it is looked at, or hold anything. */

/** `''` if it is no text. */
export function textOf(error: Error, member: 'name' | 'stack'): string {
  const value = memberOf(error, member)
  return typeof value === 'string' ? value : ''
}

/** Nothing if to look at it throws. */
export function memberOf(error: Error, member: 'name' | 'stack' | 'cause'): unknown {
  try {
    return error[member]
  } catch {
    return undefined
  }
}
