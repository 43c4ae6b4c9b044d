/** The store, clock and error reporting that all parts of `createThreads` share, and the function that changes a thread. */

import type { ChangeNotifier } from './change-notifier.ts'
import type { OnError } from './error-reports.ts'
import { type Claim, newThread } from './thread-records.ts'
import type { Change, LoadOptions, StoredThread, ThreadStore } from './thread-store.ts'

export interface Host {
  readonly store: ThreadStore
  readonly changes: ChangeNotifier
  /** Returns the current time and the lease time. */
  claim(): Claim
  /** Reports an error that no caller receives. */
  readonly report: OnError
}

/** Changes a thread in one transaction: `decide` receives its records and returns the change. A thread that does not exist is created. */
export function changeThread<Result>(
  { store, claim }: Host,
  thread: string,
  decide: (stored: StoredThread, claim: Claim) => Change<Result>,
  options?: LoadOptions,
): Promise<Result> {
  return store.change(thread, (stored) => decide(stored ?? newThread(thread, tag(), Date.now()), claim()), options)
}

/** Returns a new random tag of a thread, which its cursors contain. */
export function tag(): string {
  return crypto.randomUUID().slice(0, 8)
}
