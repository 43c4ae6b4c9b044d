/** Finds and deletes the durable runs that a change of a thread makes unused. */

import type { ThreadRuns } from './thread-runs.ts'
import type { Change, StoredThread, ThreadStore } from './thread-store.ts'

/** Returns the ids of the runs that are not used after this change: those of superseded and deleted turns, and of deleted checkpoints. */
export function unusedRunsIn({ turns }: StoredThread, change: Change<unknown>): readonly string[] {
  const { supersededFrom = Number.POSITIVE_INFINITY, deletedCheckpoints = [], deletesAll } = change
  const removed = turns.filter(({ startSeq }) => startSeq !== undefined && (deletesAll || startSeq >= supersededFrom))
  return [...deletedCheckpoints, ...removed.map(({ id }) => id)]
}

/** Returns a store that also deletes the unused runs after each change. */
export function deletingUnusedRuns(store: ThreadStore, runs: ThreadRuns): ThreadStore {
  return {
    ...store,
    async change(id, decide, options) {
      let unused: readonly string[] = []
      const result = await store.change(
        id,
        (stored) => {
          const change = decide(stored)
          unused = stored ? unusedRunsIn(stored, change) : []
          return change
        },
        options,
      )
      await Promise.all(unused.map((run) => runs.delete(run)))
      return result
    },
  }
}
