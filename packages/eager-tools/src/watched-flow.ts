/** Observes a flow of events without a generator, for wraps that change no event. */

import { close, type Flow } from '@meanwhile/core'

export interface Watch<Event, Result> {
  /** Called with each event before it is passed on. An error thrown here counts as the flow's own. */
  event(event: Event): void
  /** Called when the flow has returned; its return value becomes the result. */
  result?(result: Result): Result
  /** Called once when the flow has ended, also if its reader closed it. */
  out(): void
}

/**
 * Returns the same flow, observed. It is a hand-written iterator because a generator would cost time for each event.
 */
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
