/** Adds checkpoints: a run is saved while it works and where it stops, and another run goes on from there. */

import type { CallEntry } from '../state/call-entry.ts'
import type { CheckpointCapability } from '../state/capabilities.ts'
import type { RunState } from '../state/run.ts'
import { hasEnded } from './checkpoint.ts'
import { claim, restore } from './restore.ts'
import { restoreCalls } from './restore-calls.ts'
import { RunSaver } from './saver.ts'
import { checkpointOf } from './snapshot.ts'

export const checkpoints: CheckpointCapability<RunState, CallEntry> = {
  saverOf: (run) => new RunSaver(run),
  take: checkpointOf,
  hasEnded,
  restore,
  claim,
  keepUnclaimed: (run) => {
    if (run.unclaimed) restoreCalls(run, run.unclaimed.calls)
  },
}
