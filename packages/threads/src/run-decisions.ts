/** What is decided when the durable run of a turn has stopped: pure decisions over what is stored. */

import { ended, type Outcome, type Progress } from './owner-decisions.ts'
import { LeaseLostError } from './thread-errors.ts'
import type { Claim, Work } from './thread-records.ts'
import type { StoppedThreadRun } from './thread-runs.ts'
import type { Change, StoredThread, TurnRecord } from './thread-store.ts'

/** What has to be done so that a turn and its stopped run agree. `settle`: the thread is changed. */
export type Next = 'settle' | 'cancel' | 'retry' | 'nothing'

/** The turn has not ended. */
export function nextOf(turn: TurnRecord, { status, attempts }: StoppedThreadRun): Next {
  const isKnown = attempts <= (turn.attempts ?? 0)
  if (status === 'interrupted' && turn.closing !== undefined) return 'cancel'
  if (status === 'failed' && isKnown) return turn.status === 'running' ? 'retry' : 'nothing'
  return status === 'interrupted' && isKnown ? 'nothing' : 'settle'
}

/** The outcome of a run, and its events until then. */
export interface Stop {
  readonly attempts: number
  readonly outcome: Outcome
  readonly progress: Progress
}

/**
 * The run of the turn has stopped: the turn waits or ends, and then the next one begins. Throws {@link LeaseLostError} if something else was decided since
 * `turn` was read.
 */
export function settled(
  stored: StoredThread,
  turn: TurnRecord,
  { attempts, outcome, progress }: Stop,
  claim: Claim,
): Change<Work | undefined> {
  const { id, epoch } = turn
  const own = stored.turns.find((one) => one.id === id)
  if (!own || own.status !== turn.status || own.epoch !== epoch) throw new LeaseLostError(stored.thread.id)
  const turns = stored.turns.map((one): TurnRecord => (one === own ? { ...own, status: 'running', attempts } : one))
  return ended({ ...stored, turns }, { thread: stored.thread.id, turn: id, epoch }, outcome, progress, claim)
}

/** Ids of the runs that nobody needs after this change. */
export function runsGoneIn({ turns }: StoredThread, change: Change<unknown>): readonly string[] {
  const { supersededFrom: from = Number.POSITIVE_INFINITY, forgotten = [], isErased } = change
  const gone = turns.filter(({ startSeq }) => startSeq !== undefined && (isErased || startSeq >= from))
  return [...forgotten, ...gone.map(({ id }) => id)]
}
