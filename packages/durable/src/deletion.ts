/** Deletes runs. The first statement decides that a run is deleted; if its process dies after that, any worker does the rest. */

import type { DeleteOptions } from './runs-table.ts'
import type { Services } from './services.ts'

type Tables = Pick<Services, 'runs' | 'store'>

/** Deletes a run, if it exists, and wakes its readers. */
export async function deleteRun(
  services: Tables & Pick<Services, 'changes'>,
  id: string,
  options?: DeleteOptions,
): Promise<void> {
  const marked = await services.runs.markDeleted(id, options)
  services.changes.notify(id)
  await finishDeletion(services, marked)
}

/**
 * Deletes the checkpoints and rows of runs that are marked as deleted. May be called again. A run whose deletion another process has finished in the
 * meantime is left alone, because its id may have been started again.
 */
export async function finishDeletion({ runs, store }: Tables, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    if ((await runs.deleted(id)).length === 0) continue
    await store.delete(id)
    // The row goes last: it is the note that the checkpoint must be deleted.
    await runs.remove([id])
  }
}

/** Finishes all deletions that other processes have left. */
export async function finishDeletions(services: Tables): Promise<void> {
  for (;;) {
    const ids = await services.runs.deleted()
    if (ids.length === 0) return
    await finishDeletion(services, ids)
  }
}
