export interface Collected<Event, Result> {
  readonly events: readonly Event[]
  /** What the run came to; absent if it failed. */
  readonly result?: Result
  /** What it failed with; absent if it did not. */
  readonly error?: unknown
}

/** Reads a run to its end and never throws: a failure is in what it gives. */
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
