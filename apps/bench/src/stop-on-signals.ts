/** Stops the benchmark on Ctrl-C and on a supervisor's signal. */

/** A terminal sends a signal to all processes of a group, and a parent may send it again: within this time it counts once. */
const ONE_WISH_MS = 1_000

/** Aborts with the name of the signal. A later signal, while this process still cleans up, ends it at once. */
export function stopOnSignals(stop: AbortController): Disposable {
  let first: number | undefined
  const told = (name: NodeJS.Signals): void => {
    const now = performance.now()
    first ??= now
    stop.abort(name)
    if (now - first < ONE_WISH_MS) return
    forget()
    process.kill(process.pid, name)
  }
  const forget = (): void => void process.off('SIGINT', told).off('SIGTERM', told)
  process.on('SIGINT', told).on('SIGTERM', told)
  return { [Symbol.dispose]: forget }
}
