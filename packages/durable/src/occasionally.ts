/** Does work of a worker now and then. */

/**
 * Returns a function that begins the work, unless it is still running or began less than `interval` milliseconds ago. If the work fails, a later call or
 * another worker does it.
 */
export function occasionally(interval: number, work: () => Promise<void>): () => void {
  let begunAt = Number.NEGATIVE_INFINITY
  let isRunning = false
  return () => {
    if (isRunning || performance.now() - begunAt < interval) return
    isRunning = true
    begunAt = performance.now()
    work()
      .catch(() => undefined)
      .finally(() => {
        isRunning = false
      })
  }
}
