/** The results of a benchmark: one entry per scenario, wire and way, and facts about them. */

import type { Cell } from './cell.ts'
import type { BenchOptions } from './cli.ts'
import type { DropIns } from './drop-ins/measure-drop-ins.ts'
import type { Environment } from './environment.ts'
import type { TriedLoops } from './faults/loops/try-loops.ts'
import type { FaultCell } from './faults/matrix.ts'
import type { PeerState } from './peers/install.ts'
import type { TransportLag } from './transport-lag.ts'

/** All results. */
export interface Results {
  readonly environment: Environment
  readonly options: BenchOptions
  /** The time of the transport from server to reader by itself. */
  readonly transportLagMs: TransportLag | null
  /** The peak memory of this process. */
  readonly peakRssMb: number
  readonly cells: readonly Cell[]
  readonly faults?: readonly FaultCell[]
  /** Loops of other libraries under faults. */
  readonly loops?: TriedLoops
  /** Remarks on these scenarios: where they come from, what was assumed. */
  readonly remarks?: readonly string[]
  readonly peers?: readonly PeerState[]
  readonly dropIns?: DropIns
}

/** The meaning of the figures in the JSON, for people who read it without the report. */
export const UNITS = {
  wallMs: 'milliseconds from the call of agent.run to its result; median',
  boundMs: 'the shortest that run could have been, according to what its server really sent; median',
  ratioToBound: 'wallMs over boundMs of each run; median',
  savedMs:
    'milliseconds less than parallel tools in the same round, or than the same loop without its drop-in, negative if more; median of the differences',
  predictedSavedMs: 'the saving that the eager runs report themselves (result.savings); median',
  predictionError:
    'predictedSavedMs minus savedMs of the same round, over the time of the steps with calls; median, without its sign',
  overhead:
    'what eager tools add to the wall-clock where nothing started early, over that of the parallel run of the same round; median',
  holds:
    'prediction: off by at most 5 %; overhead: at most 3 %; null if there is nothing to save, something started early, or the model streams as fast as it can',
  dispatchLagMs: 'milliseconds from the last argument byte of a call written by the server to its tool entered',
  wonBack: 'the share of a loop’s time beyond its bound that its drop-in saves',
  faults:
    'executions that the run without eager tools would not have, or would have; `early`: all that began while the model was streaming',
  loops: 'loops of other libraries whose response is cut at every event: runs and faults',
} as const
