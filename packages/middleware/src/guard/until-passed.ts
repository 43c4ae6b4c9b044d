/** A model call whose message waits for the checks of the input. */

import type { ModelFlow } from '@meanwhile/core'
import { unheard } from '@meanwhile/core/calls'
import { Beside } from './beside.ts'
import type { InputChecks } from './input-checks.ts'

type Event = ModelFlow extends AsyncGenerator<infer Event> ? Event : never

/**
 * Passes events on while the checks are open, or with `hold` when they have passed. The message is returned when they
 * have passed. Until then the model call has not succeeded, so nothing of its response counts.
 *
 * @throws {GuardError} A check has failed. Core closes the model call and discards its early calls.
 */
export async function* untilPassed(flow: ModelFlow, checks: InputChecks, hold: boolean): ModelFlow {
  const open = new Beside(checks.passed)
  const held: Event[] = []
  while (!open.hasPassed()) {
    const next = unheard(flow.next())
    await open.or(next)
    if (open.hasPassed()) yield* held.splice(0)
    const step = await next
    if (step.done) {
      await checks.held()
      yield* held
      return step.value
    }
    held.push(step.value)
    if (!hold || open.hasPassed()) yield* held.splice(0)
  }
  // One may have failed while the reader took an event.
  await checks.passed
  return yield* flow
}
