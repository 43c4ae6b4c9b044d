/** Stores checkpoints in memory, for tests and for runs that end with their process. */

import { CheckpointConflictError } from '../vocabulary/checkpoint-errors.ts'
import { type CheckpointStore, readCheckpoint, writtenCheckpoint } from '../vocabulary/checkpoint-store.ts'

/** Returns a store in memory. It stores text, so a loaded checkpoint is a copy. It keeps every checkpoint until you delete or prune it. */
export function memoryStore(): CheckpointStore {
  const stored = new Map<string, { readonly revision: number; readonly savedAt: number; readonly text: string }>()
  return {
    async load(id) {
      const found = stored.get(id)
      return found && readCheckpoint(id, found.text)
    },
    async save(id, checkpoint, expected) {
      const text = writtenCheckpoint(checkpoint, expected)
      const found = stored.get(id)?.revision
      if ((found ?? 0) !== expected) throw new CheckpointConflictError(id, expected, found)
      stored.set(id, { revision: checkpoint.revision, savedAt: Date.now(), text })
    },
    async delete(id) {
      stored.delete(id)
    },
    async prune({ olderThan }) {
      const old = [...stored].filter(([, { savedAt }]) => savedAt < Number(olderThan))
      for (const [id] of old) stored.delete(id)
      return old.length
    },
  }
}
