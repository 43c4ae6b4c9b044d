/** Throws the reason of the first of several signals that has aborted, where any of them stops the work. */
export function throwIfAborted(signals: readonly AbortSignal[]): void {
  for (const signal of signals) signal.throwIfAborted()
}
