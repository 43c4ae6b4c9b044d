/** Values that live as long as a run. */

import type { Run } from './middleware.ts'
import { stateOf } from './run-view.ts'

/**
 * An accessor of a value that each run has of its own: `create` runs once, at the first use in a run, and every hook, wrap and
 * tool of that run gets the same value (D1). Nothing keeps the value alive once the run is over (D5).
 *
 * The accessor throws `TypeError` when called with anything but a `Run`.
 */
export function runLocal<Value>(create: () => Value): (run: Run) => Value {
  const values = new WeakMap<object, { readonly value: Value }>()
  return (run) => {
    const { scope } = stateOf(run)
    let kept = values.get(scope)
    if (!kept) {
      kept = { value: create() }
      values.set(scope, kept)
    }
    return kept.value
  }
}
