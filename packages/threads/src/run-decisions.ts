/** The decisions after the durable run of a turn has stopped. Each is a pure function over the stored records. */

import { endTurn, type Outcome, type Progress } from './owner-decisions.ts'
import { LeaseLostError } from './thread-errors.ts'
import type { Claim, Work } from './thread-records.ts'
import type { StoppedThreadRun } from './thread-runs.ts'
import type { Change, StoredThread, TurnRecord } from './thread-store.ts'

/** What the worker does with a stopped run. `settle`: it writes the outcome of the run to the thread. */
export type NextAction = 'settle' | 'cancel' | 'retry' | 'nothing'

/** Returns what to do after the run of a turn has stopped. The turn must be running or waiting. */
export function nextActionOf(turn: TurnRecord, { status, attempts }: StoppedThreadRun): NextAction {
  const isKnown = attempts <= (turn.attempts ?? 0)
  if (status === 'interrupted' && turn.closing !== undefined) return 'cancel'
  if (status === 'failed' && isKnown) return turn.status === 'running' ? 'retry' : 'nothing'
  return status === 'interrupted' && isKnown ? 'nothing' : 'settle'
}

/** What a stopped run has done: its outcome, and the events that the thread has not stored. */
export interface StopReport {
  /** How often a worker had taken the run when it stopped. */
  readonly attempts: number
  readonly outcome: Outcome
  readonly progress: Progress
}

/**
 * Ends the turn of a stopped run, or lets it wait for an answer. If it ends, the next turn of the queue begins. Throws {@link LeaseLostError} if
 * the turn has changed since `turn` was read.
 */
export function settleTurn(
  stored: StoredThread,
  turn: TurnRecord,
  { attempts, outcome, progress }: StopReport,
  claim: Claim,
): Change<Work | undefined> {
  const { id, epoch } = turn
  const own = stored.turns.find((one) => one.id === id)
  if (!own || own.status !== turn.status || own.epoch !== epoch) throw new LeaseLostError(stored.thread.id)
  const turns = stored.turns.map((one): TurnRecord => (one === own ? { ...own, status: 'running', attempts } : one))
  return endTurn({ ...stored, turns }, { thread: stored.thread.id, turn: id, epoch }, outcome, progress, claim)
}
