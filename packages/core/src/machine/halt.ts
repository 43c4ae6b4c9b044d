/**
 * Whether anything new of a run starts, and whether what is at work goes on. `decide` says what a fact changes; the other functions read
 * what follows. What a stop throws lies outside.
 *
 *     stop             calls start   calls are committed   work goes on   a resume goes on
 *     –                yes*          yes                   yes            –
 *     pause            no            no                    yes            yes
 *     cancel           no            no                    no             yes
 *     abort, failure   no            no                    no             no
 *
 *     * unless a cancel of `after-model` was asked for
 */

import { CANCEL_MODES, type CancelMode } from '../cancel.ts'

/** Plain JSON that does not change: `decide` makes another. */
export interface Halt {
  /** While it is loading there is nothing to be saved, so a cancel waits. When it is over only its last save may be at work. */
  readonly phase: 'loading' | 'at work' | 'over'
  readonly stop?: 'pause' | 'cancel' | 'abort' | 'failure'
  /** Of the strongest cancel that was asked for, and whether a time limit asked for it. */
  readonly mode?: CancelMode
  readonly escalated?: true | undefined
  /** An attempt of the model call has failed, and another is waited for. */
  readonly betweenAttempts?: boolean
  /** A stopped run waits no longer for what it has at work. */
  readonly graceOver?: true
}

export type HaltFact =
  | { readonly is: 'at work' | 'over' | 'pause' | 'abort' | 'failure' | 'grace over' }
  | { readonly is: 'cancel'; readonly at: CancelMode; readonly escalated?: true }
  | { readonly is: 'attempts'; readonly between: boolean }

/** The state after a fact: the same object if that changes nothing. */
export function decide(halt: Halt, fact: HaltFact): Halt {
  switch (fact.is) {
    case 'at work':
    case 'over':
      return cancelled({ ...halt, phase: fact.is })
    case 'cancel':
      // None lowers the mode.
      return reaches(halt, fact.at) ? halt : cancelled({ ...halt, mode: fact.at, escalated: fact.escalated })
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

function cancelled(halt: Halt): Halt {
  return halt.mode === 'now' && halt.phase === 'at work' && runsOn(halt) ? { ...halt, stop: 'cancel' } : halt
}

/** Whether a cancel was asked for that stops the run at a safe point of this kind. */
export function reaches({ mode }: Halt, point: CancelMode): boolean {
  return mode !== undefined && CANCEL_MODES.indexOf(mode) >= CANCEL_MODES.indexOf(point)
}

/** Whether a call may start that has not started. */
export function mayStart(halt: Halt): boolean {
  return !halt.stop && !reaches(halt, 'after-model')
}

/** Whether what is at work goes on. */
export function runsOn({ stop }: Halt): boolean {
  return !stop || stop === 'pause'
}

/** Whether it comes to nothing: no resume goes on from there. */
export function isLost({ stop }: Halt): boolean {
  return stop === 'abort' || stop === 'failure'
}

/** Whether the run waits for its work, or for its last save. */
export function isAwaited(halt: Halt): boolean {
  return halt.phase === 'over' ? !isLost(halt) : !halt.graceOver
}
