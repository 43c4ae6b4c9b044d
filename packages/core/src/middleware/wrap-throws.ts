/** Finds out where a throw began that comes out of a call's wraps: in the tool, or in one of the wraps. */

import { byHand, type Flow } from '../flow/flow.ts'
import { saysWhatBecame } from '../vocabulary/tool-errors.ts'

export class WrapThrows {
  /** By what was thrown: the middleware whose wrap threw it. Few calls throw. */
  #by: Map<unknown, string> | undefined

  /**
   * A wrap has thrown. If it passes on, or puts another error in the place of what `came` up to it, that began where this did. One that says
   * what became of the call, as a time limit does, is nobody's fault.
   */
  threw(thrown: unknown, middleware: string, came: ReadonlySet<unknown>): void {
    const from = [...came].filter((inner) => isMadeOf(thrown, inner))
    if (from.length === 0 && !saysWhatBecame(thrown)) this.#began(thrown, middleware)
    for (const inner of from) {
      const by = this.whose(inner)
      if (by !== undefined) this.#began(thrown, by)
    }
  }

  /** The middleware that this began in. */
  whose(thrown: unknown): string | undefined {
    return this.#by?.get(thrown)
  }

  #began(thrown: unknown, middleware: string): void {
    this.#by ??= new Map()
    this.#by.set(thrown, middleware)
  }
}

/**
 * The same flow; `came` has what it throws. What had come before it began no longer counts once it gives a result. `passed` is told of
 * each event.
 */
export function noting<Event, Result>(
  flow: Flow<Event, Result>,
  came: Set<unknown>,
  passed: (event: Event) => void,
): Flow<Event, Result> {
  const before = [...came]
  const step = async (next: Promise<IteratorResult<Event, Result>>) => {
    try {
      const result = await next
      if (!result.done) passed(result.value)
      else for (const one of before) came.delete(one)
      return result
    } catch (error) {
      came.add(error)
      throw error
    }
  }
  return byHand({
    next: () => step(flow.next()),
    return: (value) => step(flow.return(value)),
    throw: (error) => step(flow.throw(error)),
  })
}

/** It is the same, was caused by it, or is of its class: an error with another message, as one in which secrets are masked. */
function isMadeOf(thrown: unknown, inner: unknown): boolean {
  if (classOf(thrown) === classOf(inner)) return true
  const passed = new Set<unknown>()
  for (let one = thrown; one instanceof Error && !passed.has(one); one = one.cause) {
    if (one.cause === inner) return true
    passed.add(one)
  }
  return false
}

function classOf(thrown: unknown): unknown {
  return thrown === undefined || thrown === null ? thrown : Object.getPrototypeOf(thrown)
}
