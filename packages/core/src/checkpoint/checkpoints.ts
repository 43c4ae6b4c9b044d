/** Adds checkpoints: a run is saved while it works and where it stops, and another run goes on from there. */

import type { CallEntry } from '../state/call-entry.ts'
import type { CheckpointCapability } from '../state/capabilities.ts'
import type { RunState } from '../state/run.ts'
import { hasFinalAnswer } from './checkpoint.ts'
import { claim, load, loadCalls } from './load.ts'
import { checkpointOf, questionsOf } from './save.ts'
import { RunSaver } from './saver.ts'

export const checkpoints: CheckpointCapability<RunState, CallEntry> = {
  saverOf: (run) => new RunSaver(run),
  take: checkpointOf,
  questionsOf,
  hasFinalAnswer,
  load,
  claim,
  keepUnclaimed: (run) => {
    if (run.unclaimed) loadCalls(run, run.unclaimed.calls)
  },
}
