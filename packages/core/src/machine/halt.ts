/**
 * Decides whether a run starts anything new, and whether what is running goes on. `decideHalt` computes the state after a fact; the other
 * functions read that state. run-halt.ts acts on it and holds the errors that a stop throws. The table of stops in docs/architecture.md is
 * generated from these functions.
 */

import { CANCEL_MODES, type CancelMode } from '../vocabulary/cancel.ts'

/** Plain JSON that never changes: `decideHalt` makes a new object. */
export interface Halt {
  /**
   * `loading`: the run has nothing to save yet, so a cancel waits. `ending`: the run has its answer or has stopped; nothing new is made in
   * it, and what is still running is stopped. `over`: nothing is running, except perhaps the last save.
   */
  readonly phase: 'loading' | 'running' | 'ending' | 'over'
  readonly stop?: 'pause' | 'cancel' | 'abort' | 'failure'
  /** The mode of the strongest cancel so far. */
  readonly mode?: CancelMode
  /** That mode was set by a cancel's `escalateAfter`. */
  readonly escalated?: true | undefined
  /** An attempt of the model call has failed, and the next one has not begun. */
  readonly betweenAttempts?: boolean
  /** The run was stopped, and no longer waits for what is running. */
  readonly graceOver?: true
}

export type HaltFact =
  | { readonly is: 'running' | 'ending' | 'over' | 'pause' | 'abort' | 'failure' | 'grace over' }
  | { readonly is: 'cancel'; readonly at: CancelMode; readonly escalated?: true }
  | { readonly is: 'attempts'; readonly between: boolean }

/** The state after a fact. */
export function decideHalt(halt: Halt, fact: HaltFact): Halt {
  switch (fact.is) {
    case 'ending':
      // A run that has nothing to save stays as it is, and one that is over does not end again.
      return halt.phase === 'running' ? { ...halt, phase: 'ending' } : halt
    case 'running':
    case 'over':
      return withCancel({ ...halt, phase: fact.is })
    case 'cancel':
      // A run that has its answer can no longer be cancelled, and a cancel does not replace a stronger one.
      return (isEnding(halt) && !halt.stop) || reaches(halt, fact.at)
        ? halt
        : withCancel({ ...halt, mode: fact.at, escalated: fact.escalated })
    case 'pause':
      return halt.stop ? halt : { ...halt, stop: 'pause' }
    case 'abort':
    case 'failure':
      return isLost(halt) ? halt : { ...halt, stop: fact.is }
    case 'attempts':
      return (halt.betweenAttempts ?? false) === fact.between ? halt : { ...halt, betweenAttempts: fact.between }
    case 'grace over':
      return { ...halt, graceOver: true }
  }
}

/** A cancel of `now` stops a run that is running. One that is ending has already stopped everything. */
function withCancel(halt: Halt): Halt {
  return halt.mode === 'now' && halt.phase === 'running' && runsOn(halt) ? { ...halt, stop: 'cancel' } : halt
}

/** Whether a cancel stops the run at a safe point of this kind. */
export function reaches({ mode }: Halt, point: CancelMode): boolean {
  return mode !== undefined && CANCEL_MODES.indexOf(mode) >= CANCEL_MODES.indexOf(point)
}

/** Whether a call that has not started may start. */
export function mayStart(halt: Halt): boolean {
  return !halt.stop && !reaches(halt, 'after-model')
}

/** Whether nothing new is made in the run. */
export function isEnding({ phase }: Halt): boolean {
  return phase === 'ending' || phase === 'over'
}

/** Whether what is running goes on. */
export function runsOn({ stop }: Halt): boolean {
  return !stop || stop === 'pause'
}

/** Whether the run is lost: it has failed or was aborted, so no resume can continue it from this state. */
export function isLost({ stop }: Halt): boolean {
  return stop === 'abort' || stop === 'failure'
}

/** Whether the run waits for what is running or, when it is over, for its last save. */
export function isAwaited(halt: Halt): boolean {
  return halt.phase === 'over' ? !isLost(halt) : !halt.graceOver
}
