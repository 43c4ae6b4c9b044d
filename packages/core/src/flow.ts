/** A flow does one piece of work: it yields events while it works and returns the outcome. */
export type Flow<Event, Result> = AsyncGenerator<Event, Result, undefined>

/** The outcome of a flow; its events are dropped. */
export async function settle<Result>(flow: Flow<unknown, Result>): Promise<Result> {
  for (;;) {
    const step = await flow.next()
    if (step.done) return step.value
  }
}

/** The same flow with its events changed one by one. Left early, it closes the inner flow. */
export async function* map<In, Out, Result>(flow: Flow<In, Result>, change: (event: In) => Out): Flow<Out, Result> {
  try {
    for (;;) {
      const step = await flow.next()
      if (step.done) return step.value
      yield change(step.value)
    }
  } finally {
    await flow.return(undefined as Result)
  }
}
