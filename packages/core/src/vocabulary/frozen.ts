/** What users are handed of a run: frozen, or a copy, so that no write of theirs reaches it (P15). */

import { asJson, isPlain } from './json.ts'

/** Freezes lists and plain objects to their leaves. What is of a class stays as it is, and what is frozen is taken to be so throughout. */
export function freezePlain<Value>(value: Value): Value {
  const open: unknown[] = [value]
  while (open.length > 0) {
    const one = open.pop()
    if (!isPlain(one) || Object.isFrozen(one)) continue
    for (const member of Object.values(Object.freeze(one))) open.push(member)
  }
  return value
}

/** A copy, if the value is JSON; anything else as it is. */
export function copyOfJson<Value>(value: Value): Value {
  try {
    asJson(value, '')
  } catch {
    return value
  }
  return structuredClone(value)
}
