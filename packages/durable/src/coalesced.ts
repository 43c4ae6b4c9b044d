/** Merges requests for the same work. */

/**
 * Returns a function that calls `work`, never twice at a time. Requests that come while `work` is running share one more call, which starts when
 * the running call has settled. The function returns the promise of the call that serves the request, and rejects as that call does.
 */
export function coalesced<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined
  let next: Promise<Result> | undefined
  const start = (): Promise<Result> => {
    next = undefined
    const call = work().finally(() => {
      running = undefined
    })
    running = call
    return call
  }
  return () => {
    if (next) return next
    if (!running) return start()
    next = running.then(start, start)
    return next
  }
}
