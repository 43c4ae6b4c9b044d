/** Finds and deletes the durable runs that a change of a thread makes unused. */

import type { ThreadRuns } from './thread-runs.ts'
import type { Change, ChangeOptions, StoredThread, ThreadStore } from './thread-store.ts'

/** Changes a thread. Returns the result of the change, and the ids of the runs that it makes unused. */
export async function changeAndFindUnused<Result>(
  store: ThreadStore,
  id: string,
  decide: (stored: StoredThread | undefined, now?: number) => Change<Result>,
  options?: ChangeOptions,
): Promise<{ readonly result: Result; readonly unused: readonly string[] }> {
  let unused: readonly string[] = []
  const result = await store.change(
    id,
    (stored, now) => {
      const change = decide(stored, now)
      unused = stored ? unusedRunsIn(stored, change) : []
      return change
    },
    options,
  )
  return { result, unused }
}

/** Returns a store that also deletes the unused runs after each change. */
export function deletingUnusedRuns(store: ThreadStore, runs: ThreadRuns): ThreadStore {
  return {
    ...store,
    async change(id, decide, options) {
      const { result, unused } = await changeAndFindUnused(store, id, decide, options)
      await Promise.all(unused.map((run) => runs.delete(run)))
      return result
    },
  }
}

/** Returns the ids of the runs that are not used after this change: those of superseded and deleted turns, and of deleted checkpoints. */
function unusedRunsIn({ turns }: StoredThread, change: Change<unknown>): readonly string[] {
  const { supersededFrom = Number.POSITIVE_INFINITY, deletedCheckpoints = [], deletesAll } = change
  const removed = turns.filter(({ startSeq }) => startSeq !== undefined && (deletesAll || startSeq >= supersededFrom))
  return [...deletedCheckpoints, ...removed.map(({ id }) => id)]
}
