/** The store, clock and error reporting that all parts of `createThreads` share, and the function that changes a thread. */

import type { OnError } from './error-reports.ts'
import type { ThreadChanges } from './thread-changes.ts'
import { type Claim, newThread } from './thread-records.ts'
import type { Change, ChangeOptions, StoredThread, ThreadStore } from './thread-store.ts'

export interface Host {
  readonly store: ThreadStore
  readonly changes: ThreadChanges
  /** Returns the time from which leases are computed, and the lease time. `now`: the time of the store, if it has a clock. */
  claim(now?: number): Claim
  /** Reports an error that no caller receives. */
  readonly report: OnError
}

/** Changes a thread in one transaction: `decide` receives its records and returns the change. A thread that does not exist is created. */
export function changeThread<Result>(
  { store, claim }: Host,
  thread: string,
  decide: (stored: StoredThread, claim: Claim) => Change<Result>,
  options?: ChangeOptions,
): Promise<Result> {
  const decideAt = (stored: StoredThread | undefined, time?: number) => {
    const now = claim(time)
    return decide(stored ?? newThread(thread, tag(), now.now), now)
  }
  return store.change(thread, decideAt, options)
}

/** Returns the time of the store, or of this process if the store has no clock. */
export async function timeOf({ now }: ThreadStore): Promise<number> {
  return now ? await now() : Date.now()
}

/** Returns a new random tag of a thread, which its cursors contain. */
export function tag(): string {
  return crypto.randomUUID().slice(0, 8)
}
