/** Deletes runs. The first statement decides that a run is deleted; if its process dies after that, any worker does the rest. */

import type { Services } from './services.ts'

type Tables = Pick<Services, 'runs' | 'store'>

/** Deletes the checkpoints and rows of runs that are marked as deleted. May be called again, and by several processes at once. */
export async function finishDeletion({ runs, store }: Tables, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  // The rows go last: they are the note that the checkpoints must be deleted.
  for (const id of ids) await store.delete(id)
  await runs.remove(ids)
}

/** Finishes all deletions that other processes have left. */
export async function finishDeletions(services: Tables): Promise<void> {
  for (;;) {
    const ids = await services.runs.deleted()
    if (ids.length === 0) return
    await finishDeletion(services, ids)
  }
}
