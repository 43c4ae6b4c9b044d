import { turnIfDue } from '@meanwhile/core/calls'

/**
 * Call this before each piece of a long search. Returns a promise if the event loop has to turn first. Throws the
 * signal's reason.
 */
export function goOn(signal: AbortSignal | undefined): Promise<void> | undefined {
  signal?.throwIfAborted()
  return turnIfDue()
}
