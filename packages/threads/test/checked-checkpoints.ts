/** Checks after each change of a store that every stored checkpoint is loaded as it was saved. */

import { isDeepStrictEqual } from 'node:util'
import type { StoredCheckpoint } from '@meanwhile/core'
import type { SavedCheckpoint, ThreadStore } from '../src/index.ts'

export interface CheckedCheckpoints {
  readonly store: ThreadStore
  /** What is wrong with checkpoints. */
  readonly faults: readonly unknown[]
  /** How many checkpoints were saved with the messages that events have, and how many without them. */
  readonly saves: { readonly whole: number; readonly cut: number }
}

export function checkedCheckpoints(store: ThreadStore): CheckedCheckpoints {
  const saved = new Map<string, StoredCheckpoint[]>()
  const faults: unknown[] = []
  const saves = { whole: 0, cut: 0 }
  const note = ({ id, checkpoint, base }: SavedCheckpoint) => {
    saves[base ? 'cut' : 'whole']++
    // Another process may have decided on a checkpoint with the same revision.
    saved.set(id, [...(saved.get(id) ?? []), JSON.parse(JSON.stringify(checkpoint))])
  }
  const check = async (id: string, before: readonly StoredCheckpoint[]) => {
    const loaded = await store.checkpoints.load(id)
    // While this one was read, another change may have saved the next one or deleted them all.
    const known = [...before, ...(saved.get(id) ?? [])]
    // It is nearly always the latest.
    const isKnown = known.findLast((one) => isDeepStrictEqual(one, loaded)) !== undefined
    if (loaded !== undefined && !isKnown) faults.push({ id, loaded })
  }
  return {
    faults,
    saves,
    store: {
      ...store,
      async change(id, decide, options) {
        let deleted: readonly string[] = []
        const result = await store.change(
          id,
          (stored, now) => {
            const change = decide(stored, now)
            if (change.checkpoint) note(change.checkpoint)
            deleted = change.deletedCheckpoints ?? []
            return change
          },
          options,
        )
        for (const run of deleted) saved.delete(run)
        for (const [run, before] of saved) await check(run, before).catch((error: unknown) => faults.push(error))
        return result
      },
    },
  }
}
