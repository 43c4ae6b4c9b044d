/** Finds the call whose tool received a signal: what the tool starts with this signal outside its run counts as part of that call. */

import type { CallEntry } from './call-entry.ts'

const calls = new WeakMap<AbortSignal, CallEntry>()

/** Records the signal that an execution of this call passes to its tool, if the call may hold a slot for which others wait. */
export function setSignalOwner(entry: CallEntry, signal: AbortSignal): void {
  if (entry.seat || entry.maker || entry.caller) calls.set(signal, entry)
}

/** The call whose tool received this signal, if it is known. */
export function signalOwner(signal: AbortSignal | undefined): CallEntry | undefined {
  return signal && calls.get(signal)
}
