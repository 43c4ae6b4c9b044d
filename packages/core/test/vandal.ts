/** Writes to everything that a run passes out: at once, and again at every later occasion. */

export class Vandal {
  #kept: unknown[] = []
  readonly #isActive: boolean

  /** An inactive vandal does nothing. */
  constructor(isActive: boolean) {
    this.#isActive = isActive
  }

  /** Remembers a value that it returned, and writes to it from the next occasion on. Returns the same value. */
  gave<Value>(value: Value): Value {
    this.#kept.push(value)
    return value
  }

  /** Writes to this value, and to all earlier ones. Returns the same value. */
  handed<Value>(value: Value): Value {
    this.#kept.push(value)
    // What is frozen throughout stays as it is.
    if (this.#isActive) this.#kept = this.#kept.filter((one) => spoil(one, new Set()))
    return value
  }
}

/** Writes to everything that can be reached, as far as possible. Returns whether something of it is not frozen. */
function spoil(value: unknown, met: Set<object>): boolean {
  if (typeof value !== 'object' || value === null || met.has(value) || isLive(value)) return false
  met.add(value)
  let isOpen = false
  for (const member of Object.values(value)) if (spoil(member, met)) isOpen = true
  if (Object.isFrozen(value) && isPlain(value)) return isOpen
  for (const act of acts(value)) {
    try {
      act()
    } catch {
      // It is frozen.
    }
  }
  return true
}

/** Whether its own members are all that it has, as they are not in a map or a set. */
function isPlain(value: object): boolean {
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype
}

/** Models, tools, signals, errors and promises belong to the code that made them. */
function isLive(value: object): boolean {
  if (value instanceof AbortSignal || value instanceof Promise || value instanceof Error) return true
  return ['stream', 'execute', 'callTool', '~standard'].some((name) => name in value)
}

function acts(value: object): readonly (() => unknown)[] {
  const keys = Object.keys(value)
  const writes = keys.map((key) => () => Reflect.set(value, key, 'spoilt'))
  const deletes = keys.map((key) => () => Reflect.deleteProperty(value, key))
  const calls = ['clear', 'pop', 'add', 'push'].map(
    (name) => () => (value as Record<string, (item: string) => void>)[name]?.('spoilt'),
  )
  return [...calls, ...writes, ...deletes, () => Object.assign(value, { spoilt: true })]
}
