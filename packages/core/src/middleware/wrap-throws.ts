/** Finds out whether an error that leaves the wraps of a call came from the tool or from one of the wraps. */

import { type Flow, observed } from '../flow/flow.ts'
import { ToolCancelledError, ToolDiscardedError, ToolError } from '../vocabulary/tool-errors.ts'

export class WrapThrows {
  /** The middleware whose wrap threw, by thrown value. Created when needed, because few calls throw. */
  #by: Map<unknown, string> | undefined

  /**
   * Records that a wrap has thrown. If it passes on or replaces an error that it received (`came`), the new error has the same origin as that one. An
   * error that reports what happened to the call, such as a time limit, belongs to no wrap.
   */
  threw(thrown: unknown, middleware: string, came: ReadonlySet<unknown>): void {
    const from = [...came].filter((inner) => isMadeOf(thrown, inner))
    const isOutcome = [ToolError, ToolDiscardedError, ToolCancelledError].some((kind) => thrown instanceof kind)
    if (from.length === 0 && !isOutcome) this.#began(thrown, middleware)
    for (const inner of from) {
      const by = this.whose(inner)
      if (by !== undefined) this.#began(thrown, by)
    }
  }

  /** Returns the middleware that this error came from, if any. */
  whose(thrown: unknown): string | undefined {
    return this.#by?.get(thrown)
  }

  #began(thrown: unknown, middleware: string): void {
    this.#by ??= new Map()
    this.#by.set(thrown, middleware)
  }
}

/** Returns the same flow, which adds its error to `came`. When it returns a result, older errors are removed. `passed` receives each event. */
export function noting<Event, Result>(
  flow: Flow<Event, Result>,
  came: Set<unknown>,
  passed: (event: Event) => void,
): Flow<Event, Result> {
  const before = [...came]
  const saw = (step: IteratorResult<Event, Result>) => {
    if (!step.done) passed(step.value)
    else for (const one of before) came.delete(one)
  }
  return observed(flow, saw, (error) => came.add(error))
}

/** Whether an error is the other one, has it as its cause, or has its class, as an error with masked secrets does. */
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
