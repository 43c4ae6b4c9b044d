/** A flow that is looked at as it goes by: a wrap which changes no event need not be a generator that passes each on. */

import { close, type Flow } from '@meanwhile/core'

export interface Watch<Event, Result> {
  /** Each event, before it goes up. A throw here counts as the flow's own. */
  event(event: Event): void
  /** The flow returned: what this gives is the outcome. */
  result?(result: Result): Result
  /** The flow is out, closed by its reader included. Called once. */
  out(): void
}

/** The same flow. An iterator made by hand: most events say nothing of a call, and in a generator each would cost as much as one that does. */
export function watched<Event, Result>(flow: Flow<Event, Result>, watch: Watch<Event, Result>): Flow<Event, Result> {
  type Step = IteratorResult<Event, Result>
  let isOut = false

  const out = () => {
    if (isOut) return
    isOut = true
    watch.out()
  }
  const failed = (error: unknown): never => {
    out()
    throw error
  }
  const closed = (step: Step): Step => {
    if (step.done) out()
    return step
  }
  const came = (step: Step): Step => {
    try {
      if (!step.done) watch.event(step.value)
      else if (watch.result && !isOut) return closed({ done: true, value: watch.result(step.value) })
    } catch (error) {
      return failed(error)
    }
    return closed(step)
  }

  return {
    next: () => flow.next().then(came, failed),
    return: (value) => flow.return(value).then(closed, failed),
    throw: (error) => flow.throw(error).then(came, failed),
    [Symbol.asyncIterator]() {
      return this
    },
    async [Symbol.asyncDispose]() {
      await close(this)
    },
  }
}
