/** The store of a world: each save waits at gates, and may fail. */

import type { Checkpoint, CheckpointStore, StoredCheckpoint } from '../../src/index.ts'
import type { Place } from './place.ts'

export function storeOf({ gates, journal, left, reached, scenario, on }: Place): CheckpointStore {
  return {
    async load() {
      if (scenario.store === 'slow store') await gates.pass('the load')
      return copyOf(journal.stored)
    },
    async save(id, checkpoint, expected) {
      const number = ++journal.saves
      const text = JSON.stringify(checkpoint)
      reached('a save begins')
      const how = await gates.pass('the save', () => (left.saveFails > 0 ? ['is done', 'fails'] : ['is done']))
      if (how === 'fails') {
        left.saveFails--
        throw new Error('the disk is full')
      }
      const found = journal.stored?.revision ?? 0
      if (found !== expected) throw new on.core.CheckpointConflictError(id, expected, found)
      journal.storedSave = number
      journal.stored = JSON.parse(text) as Checkpoint & StoredCheckpoint
      if (scenario.store === 'slow store') await gates.pass('the save is answered')
    },
    delete: async () => undefined,
    prune: async () => 0,
  }
}

export function copyOf(checkpoint: Checkpoint | undefined): Checkpoint | undefined {
  return checkpoint && (JSON.parse(JSON.stringify(checkpoint)) as Checkpoint)
}

/** Whether a checkpoint tells that the call with this key may have happened. */
export function isStored(checkpoint: Checkpoint | undefined, key: string): boolean {
  return (checkpoint?.calls ?? []).some(
    (call) => (call.key === key && call.effect !== undefined) || call.runs.some((run) => isStored(run.checkpoint, key)),
  )
}
