/** The events of a run, and how it ended. */
export interface Collected<Event, Result> {
  /** All events, in order. */
  readonly events: readonly Event[]
  /** The result of the run; absent if it failed. */
  readonly result?: Result
  /** The error of the run; absent if it did not fail. */
  readonly error?: unknown
}

/** Reads a run to its end and returns its events with the result or the error. Never throws. */
export async function collect<Event, Result>(
  run: AsyncIterable<Event> & { readonly result: PromiseLike<Result> },
): Promise<Collected<Event, Result>> {
  const events: Event[] = []
  try {
    for await (const event of run) events.push(event)
    return { events, result: await run.result }
  } catch (error) {
    return { events, error }
  }
}
