/** Converts each message and file once, however many requests contain it: every step of a run sends the whole history again. */

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

/** The same for a function that also depends on where the value goes, such as the target of a message. */
export function onceFor<Given extends object, Goal extends object, Made extends object>(
  make: (given: Given, goal: Goal) => Made,
): (given: Given, goal: Goal) => Made {
  const byGoal = new WeakMap<Goal, (given: Given) => Made>()
  return (given, goal) => {
    let convert = byGoal.get(goal)
    if (!convert) byGoal.set(goal, (convert = once((one: Given) => make(one, goal))))
    return convert(given)
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
