/** Adds checkpoints to an agent: a run is saved while it is running and when it stops, and another run continues from there. */

import type { CallEntry } from '../state/call-entry.ts'
import type { CheckpointCapability } from '../state/capabilities.ts'
import type { RunState } from '../state/run.ts'
import { hasFinalAnswer } from './checkpoint.ts'
import { claim, load } from './go-on.ts'
import { restoreCalls } from './restore-calls.ts'
import { RunSaver } from './saver.ts'
import { checkpointOf, questionsOf } from './take.ts'

export const checkpoints: CheckpointCapability<RunState, CallEntry> = {
  saverOf: (run) => new RunSaver(run),
  take: checkpointOf,
  questionsOf,
  hasFinalAnswer,
  load,
  claim,
  loadUnclaimed: (run) => {
    if (run.unclaimed) restoreCalls(run, run.unclaimed.calls)
  },
}
