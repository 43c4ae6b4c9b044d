/** Converts each message once, however many requests contain it: every step of a run sends the whole history again. */

import type { Message } from '@meanwhile/core'
import type { Target } from './families.ts'

/**
 * The same function for values that nobody can change, such as the messages of a run, which are frozen with everything in
 * them. Its results are kept as long as these values, and are frozen too, because requests share them.
 */
export function once<Given extends object, Made extends object>(make: (given: Given) => Made): (given: Given) => Made {
  const kept = new WeakMap<Given, Made>()
  return (given) => {
    const known = kept.get(given)
    if (known) return known
    const made = make(given)
    if (isFrozen(given)) kept.set(given, frozen(made))
    return made
  }
}

/** The same for a function that also depends on where the message goes. */
export function oncePerTarget<Made extends object>(
  make: (message: Message, target: Target) => Made,
): (message: Message, target: Target) => Made {
  const byTarget = new WeakMap<Target, (message: Message) => Made>()
  return (message, target) => {
    let convert = byTarget.get(target)
    if (!convert) byTarget.set(target, (convert = once((one: Message) => make(one, target))))
    return convert(message)
  }
}

/** Whether nobody can change a value or anything in it. */
export function isFrozen(value: unknown): boolean {
  return !isObject(value) || (Object.isFrozen(value) && Object.values(value).every(isFrozen))
}

/** Freezes a value with everything in it. What is frozen already has been frozen with everything in it. */
export function frozen<Value>(value: Value): Value {
  if (!isObject(value) || Object.isFrozen(value)) return value
  for (const member of Object.values(value)) frozen(member)
  return Object.freeze(value)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
