/**
 * Whether a run starts anything new, and whether what is at work goes on. `decideHalt` makes the state after a fact; the other functions
 * read that state. run-halt.ts acts on it, and has the errors that a stop throws.
 * docs/architecture.md has the table of stops, which is made of these functions.
 */

import { CANCEL_MODES, type CancelMode } from '../vocabulary/cancel.ts'

/** Plain JSON that never changes: `decideHalt` makes a new object. */
export interface Halt {
  /**
   * `loading`: the run has nothing to save yet, so a cancel waits. `ending`: it has its answer, or has stopped. Nobody makes anything more
   * in it, and what is still at work is told to stop. `over`: nothing is at work, except perhaps its last save.
   */
  readonly phase: 'loading' | 'at work' | 'ending' | 'over'
  readonly stop?: 'pause' | 'cancel' | 'abort' | 'failure'
  /** The mode of the strongest cancel so far. */
  readonly mode?: CancelMode
  /** That mode comes from a cancel's `escalateAfter`. */
  readonly escalated?: true | undefined
  /** An attempt of the model call has failed, and the next one has not begun. */
  readonly betweenAttempts?: boolean
  /** The run was stopped, and no longer waits for what is at work. */
  readonly graceOver?: true
}

export type HaltFact =
  | { readonly is: 'at work' | 'ending' | 'over' | 'pause' | 'abort' | 'failure' | 'grace over' }
  | { readonly is: 'cancel'; readonly at: CancelMode; readonly escalated?: true }
  | { readonly is: 'attempts'; readonly between: boolean }

/** The state after a fact. */
export function decideHalt(halt: Halt, fact: HaltFact): Halt {
  switch (fact.is) {
    case 'ending':
      // A run that has nothing to save stays so, and one that is over does not end again.
      return halt.phase === 'at work' ? { ...halt, phase: 'ending' } : halt
    case 'at work':
    case 'over':
      return withCancel({ ...halt, phase: fact.is })
    case 'cancel':
      // A run that has its answer is not cancelled any more, and a cancel does not replace a stronger one.
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

/** A cancel of `now` stops a run that is at work. One that is ending has stopped what is at work already. */
function withCancel(halt: Halt): Halt {
  return halt.mode === 'now' && halt.phase === 'at work' && runsOn(halt) ? { ...halt, stop: 'cancel' } : halt
}

/** Whether a cancel stops the run at a safe point of this kind. */
export function reaches({ mode }: Halt, point: CancelMode): boolean {
  return mode !== undefined && CANCEL_MODES.indexOf(mode) >= CANCEL_MODES.indexOf(point)
}

/** Whether a call may start that has not started. */
export function mayStart(halt: Halt): boolean {
  return !halt.stop && !reaches(halt, 'after-model')
}

/** Whether nobody makes anything more in the run. */
export function isEnding({ phase }: Halt): boolean {
  return phase === 'ending' || phase === 'over'
}

/** Whether what is at work goes on. */
export function runsOn({ stop }: Halt): boolean {
  return !stop || stop === 'pause'
}

/** Whether the run comes to nothing: no resume goes on from it. */
export function isLost({ stop }: Halt): boolean {
  return stop === 'abort' || stop === 'failure'
}

/** Whether the run waits for its work; when it is over: for its last save. */
export function isAwaited(halt: Halt): boolean {
  return halt.phase === 'over' ? !isLost(halt) : !halt.graceOver
}
