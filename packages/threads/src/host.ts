/** What the threads of a process share. */

import type { OnError } from './error-reports.ts'
import { type Claim, newThread } from './thread-records.ts'
import type { Asked, Change, StoredThread, ThreadStore } from './thread-store.ts'
import type { Wakes } from './wakes.ts'

export interface Host {
  readonly store: ThreadStore
  readonly wakes: Wakes
  claim(): Claim
  /** Takes errors that no caller awaits. */
  readonly report: OnError
}

/** Decides, and writes what was decided. A thread that does not exist is made first. */
export function changed<Result>(
  { store, claim }: Host,
  thread: string,
  decide: (stored: StoredThread, claim: Claim) => Change<Result>,
  asked?: Asked,
): Promise<Result> {
  return store.change(thread, (stored) => decide(stored ?? newThread(thread, tag(), Date.now()), claim()), asked)
}

/** A text that no cursor of another thread has. */
export function tag(): string {
  return crypto.randomUUID().slice(0, 8)
}
