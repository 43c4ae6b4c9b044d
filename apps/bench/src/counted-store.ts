import type { CheckpointStore } from '@meanwhile/core'

/** The store, with a call of `onSave` before each save. */
export function countedStore(store: CheckpointStore, onSave: () => void): CheckpointStore {
  return {
    load: (id) => store.load(id),
    async save(...given) {
      onSave()
      await store.save(...given)
    },
    delete: (id) => store.delete(id),
    prune: (options) => store.prune(options),
  }
}
