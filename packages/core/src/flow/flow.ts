/** Functions on flows: async generators that yield events while they work and return a result. */

import { turnIfDue } from './event-loop.ts'

/** An async generator that does one piece of work: it yields events while it works and returns the result. */
export type Flow<Event, Result> = AsyncGenerator<Event, Result, undefined>

/**
 * Returns the same flow, but if it is closed before its end, it calls `cancel` first. Without that, a generator that waits for something could only
 * be closed when the wait ends.
 */
export function cancelable<Event, Result>(flow: Flow<Event, Result>, cancel: () => void): Flow<Event, Result> {
  let over = false
  const ended = () => {
    over = true
  }
  const same = observed(flow, ({ done }) => done && ended(), ended)
  return byHand({
    ...same,
    return(value) {
      if (!over) cancel()
      return same.return(value)
    },
  })
}

/** Returns the same flow. `saw` receives each of its steps, and `threw` its error, before its reader does. */
export function observed<Event, Result>(
  flow: Flow<Event, Result>,
  saw: (step: IteratorResult<Event, Result>) => void,
  threw: (error: unknown) => void,
): Flow<Event, Result> {
  const step = async (next: Promise<IteratorResult<Event, Result>>) => {
    try {
      const result = await next
      saw(result)
      return result
    } catch (error) {
      threw(error)
      throw error
    }
  }
  return byHand({
    next: () => step(flow.next()),
    return: (value) => step(flow.return(value)),
    throw: (error) => step(flow.throw(error)),
  })
}

/** Ends a flow whose outcome is not needed: its `finally` blocks run. If it has already ended, nothing happens. */
export async function close(flow: Flow<unknown, unknown>): Promise<void> {
  await flow.return(undefined)
}

/** Returns the outcome of a flow and drops its events. A flow that never waits does not block the event loop. */
export function settle<Result>(flow: Flow<unknown, Result>): Promise<Result> {
  return drive(flow, () => undefined)
}

/**
 * Returns the outcome of a flow. Each event is passed to `take`, and awaited if `take` returns a promise. If `take` throws, the flow is closed, so
 * its `finally` blocks run. A flow that never waits does not block the event loop.
 */
export async function drive<Event, Result>(
  flow: Flow<Event, Result>,
  take: (event: Event) => Promise<void> | void,
): Promise<Result> {
  for (;;) {
    const step = await flow.next()
    if (step.done) {
      // Counted here too, because a caller may start one short flow after another.
      const turn = turnIfDue()
      if (turn) await turn
      return step.value
    }
    try {
      const waits = take(step.value) ?? turnIfDue()
      if (waits) await waits
    } catch (error) {
      await close(flow)
      throw error
    }
  }
}

/** Returns a flow whose events are those of another flow, each changed by `change`. Closing it early closes the inner flow. */
export function map<In, Out, Result>(flow: Flow<In, Result>, change: (event: In) => Out): Flow<Out, Result> {
  const changed = async (next: Promise<IteratorResult<In, Result>>): Promise<IteratorResult<Out, Result>> => {
    const step = await next
    if (step.done) return step
    try {
      return { done: false, value: change(step.value) }
    } catch (error) {
      await close(flow)
      throw error
    }
  }
  return byHand({
    next: () => changed(flow.next()),
    return: (value) => changed(flow.return(value)),
    async throw(error) {
      await close(flow)
      throw error
    },
  })
}

/** Makes a flow without a generator, because a generator costs time for each event that it only passes on. */
export function byHand<Event, Result>(steps: Steps<Event, Result>): Flow<Event, Result> {
  return new ByHand(steps)
}

type Steps<Event, Result> = Pick<Flow<Event, Result>, 'next' | 'return' | 'throw'>

// A class, so that the many instances share their methods.
class ByHand<Event, Result> implements Flow<Event, Result> {
  readonly next: Flow<Event, Result>['next']
  readonly return: Flow<Event, Result>['return']
  readonly throw: Flow<Event, Result>['throw']

  constructor(steps: Steps<Event, Result>) {
    this.next = steps.next
    this.return = steps.return
    this.throw = steps.throw
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await close(this)
  }
}

/** Makes a flow without a generator. `leave` ends it early: it stops the work of the flow and waits for that. */
export function leavable<Event, Result>(
  next: () => Promise<IteratorResult<Event, Result>>,
  leave: () => Promise<void>,
): Flow<Event, Result> {
  return byHand({
    next,
    async return(value) {
      await leave()
      return { done: true, value: await value }
    },
    async throw(error) {
      await leave()
      throw error
    },
  })
}

/** The result of `next` on a flow that has ended. */
export async function finished(): Promise<IteratorReturnResult<never>> {
  return { done: true, value: undefined as never }
}

/** A value, or a promise of it. */
export type Awaitable<T> = T | Promise<T>
