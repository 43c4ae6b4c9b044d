/** Finds the call whose tool was given a signal: what a tool starts with this signal outside of its run works for that call. */

import type { CallEntry } from './call-entry.ts'

const calls = new WeakMap<AbortSignal, CallEntry>()

/** The signal that an execution of this call hands to its tool. Most calls are not noted: they hold no slot that others wait for. */
export function setSignalOwner(entry: CallEntry, signal: AbortSignal): void {
  if (entry.seat || entry.maker || entry.caller) calls.set(signal, entry)
}

/** The call whose tool was given this signal, as far as that is known. */
export function signalOwner(signal: AbortSignal | undefined): CallEntry | undefined {
  return signal && calls.get(signal)
}
