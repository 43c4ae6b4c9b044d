/** What a thrown error says of itself: it may throw when it is looked at, or hold anything. */

/** Its name, if that may be the name of a class: whoever throws may name it as they like. */
export function nameOf(error: Error): string | undefined {
  const name = textOf(error, 'name')
  return /^[A-Za-z_$][\w$.]{0,63}$/.test(name) ? name : undefined
}

/** Whether that is the name of the error's class, or of one that this extends: no word that came from elsewhere. */
export function isOfClass(error: Error, name: string): boolean {
  try {
    let one: unknown = Object.getPrototypeOf(error)
    while (one instanceof Object && one.constructor.name !== name) one = Object.getPrototypeOf(one)
    return one instanceof Object
  } catch {
    return false
  }
}

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
