/** A flow does one piece of work: it yields events while it works and returns the outcome. */
export type Flow<Event, Result> = AsyncGenerator<Event, Result, undefined>

/**
 * The same flow; closed before its end, it calls `cancel` first: a generator that waits for something can be closed only when
 * that has come.
 */
export function cancelable<Event, Result>(flow: Flow<Event, Result>, cancel: () => void): Flow<Event, Result> {
  let over = false
  const step = async (next: Promise<IteratorResult<Event, Result>>) => {
    try {
      const result = await next
      if (result.done) over = true
      return result
    } catch (error) {
      over = true
      throw error
    }
  }
  return {
    next: () => step(flow.next()),
    return(value) {
      if (!over) cancel()
      return step(flow.return(value))
    },
    throw: (error) => step(flow.throw(error)),
    [Symbol.asyncIterator]() {
      return this
    },
    async [Symbol.asyncDispose]() {
      await close(this)
    },
  }
}

/** Ends a flow whose outcome nobody needs: it comes to its `finally` blocks. One that is over is left as it is. */
export async function close(flow: Flow<unknown, unknown>): Promise<void> {
  await flow.return(undefined)
}

/** The outcome of a flow; its events are dropped. */
export async function settle<Result>(flow: Flow<unknown, Result>): Promise<Result> {
  for (;;) {
    const step = await flow.next()
    if (step.done) return step.value
  }
}

/**
 * The outcome of a flow, each event handed to `take`. Once the signal has aborted, the flow is closed at its next event: it
 * would go on all the same, and so comes to its `finally` blocks (I14).
 */
export async function drive<Event, Result>(
  flow: Flow<Event, Result>,
  signal: AbortSignal,
  take: (event: Event) => void,
): Promise<Result> {
  for (;;) {
    const step = await flow.next()
    if (step.done) return step.value
    try {
      signal.throwIfAborted()
      take(step.value)
    } catch (error) {
      await close(flow)
      throw error
    }
  }
}

/** The same flow with its events changed one by one. Left early, it closes the inner flow. */
export function map<In, Out, Result>(flow: Flow<In, Result>, change: (event: In) => Out): Flow<Out, Result> {
  // No generator: each event would pay for it.
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
  return {
    next: () => changed(flow.next()),
    return: (value) => changed(flow.return(value)),
    async throw(error) {
      await close(flow)
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
    async [Symbol.asyncDispose]() {
      await close(this)
    },
  }
}
