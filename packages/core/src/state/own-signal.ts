/** Which call gave out a signal: what a tool runs with its own signal, outside of its run, works for its call. */

import type { CallEntry } from './call-entry.ts'

const calls = new WeakMap<AbortSignal, CallEntry>()

/** The signal that an execution of this call hands to its tool. Of most calls nobody asks: they hold no slot that others wait for. */
export function givenBy(entry: CallEntry, signal: AbortSignal): void {
  if (entry.seat || entry.maker || entry.caller) calls.set(signal, entry)
}

/** The call whose tool was given this signal, as far as that is known. */
export function callBehind(signal: AbortSignal | undefined): CallEntry | undefined {
  return signal && calls.get(signal)
}
