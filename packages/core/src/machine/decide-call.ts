/**
 * What can happen to one call. Each function takes the state and a fact, and returns the new state: the same one if it is too late. What may become
 * known at any time needs no function: `CallEntry.note` stores it.
 */

import type { DiscardCause } from '../vocabulary/events.ts'
import type { Invocation } from '../vocabulary/saved-run.ts'
import {
  type CallState,
  type End,
  type ExecutionState,
  executionOf,
  hasSettled,
  type Judgement,
  type Stage,
  type Told,
  undoOf,
} from './call.ts'
import { savedFor } from './invocation.ts'

/** The call was asleep and is requested now. */
export function begun(call: CallState): CallState {
  return call.course === 'asleep' ? { ...call, course: 'begun' } : call
}

/**
 * How the wraps of a call, or the run that waits for them, ended: with a message (`result`), a message that only states that the end of the
 * run `cut off` the call, a thrown `RunStop` (`stop`), or any other `throw`.
 */
export type WrapsOutcome = 'result' | 'cut off' | 'stop' | 'throw'

/** How a call settles. A table in docs/architecture.md is generated from this function. */
export function endOf({ isParked, fate, aborted }: CallState, came: WrapsOutcome): End {
  const isThrown = came === 'stop' || came === 'throw'
  if (isParked && (isThrown || aborted !== 'cancelled')) return 'open'
  if (fate === 'discarded') return 'none'
  if (isThrown) return came === 'stop' && !aborted ? 'open' : 'none'
  return aborted === 'cancelled' ? 'result' : came
}

/** The call settles. Only its first end counts. */
export function settled(call: CallState, end: End): CallState {
  return hasSettled(call) ? call : { ...call, course: end }
}

/** A further attempt requests the call. */
export function alsoRequestedBy(call: CallState, attempt: number): CallState {
  return { ...call, requestedBy: [...call.requestedBy, attempt] }
}

/** The call is committed: its model call succeeded and requests it. Both times are in `performance.now()`. */
export function committed(call: CallState, requestedAt: number, modelEnded?: number): CallState {
  return call.fate === 'provisional' ? { ...call, fate: 'committed', requestedAt, modelEnded } : call
}

/** The call is discarded: nothing requests it any more. */
export function discarded(call: CallState, cause: DiscardCause): CallState {
  return call.fate === 'provisional' ? { ...call, fate: 'discarded', cause } : call
}

/** Its run stops while the call is provisional, and a resume decides its fate. `undefined`: no resume does. */
export function kept(call: CallState, how: CallState['kept']): CallState {
  return call.kept === how ? call : { ...call, kept: how, undo: call.undo === 'theirs' ? undefined : call.undo }
}

/** The call is stopped. Only the first reason counts, and only while the call is running. */
export function aborted(call: CallState, why: CallState['aborted']): CallState {
  return call.course === 'begun' && !call.aborted ? { ...call, aborted: why } : call
}

/** The call waits for a commit, and its run pauses: no commit follows in this process. */
export function parked(call: CallState): CallState {
  return call.fate === 'provisional' && call.course === 'begun' ? { ...call, isParked: true } : call
}

/** Its undo begins, if it is due, and ends; or it is left to the process that continues the run. */
export function undoing(call: CallState, undo: 'theirs' | 'begun' | 'ended'): CallState {
  const isNext = undo === 'begun' ? undoOf(call) === 'due' : undo === 'theirs' || call.undo === 'begun'
  return isNext ? { ...call, undo } : call
}

/** The reader has not seen the call yet, so its events wait. Only events of a provisional call do. */
export function hidden(call: CallState): CallState {
  return call.fate === 'provisional' ? { ...call, told: 'hidden' } : call
}

/** The state that must come before each state. */
const BEFORE: Readonly<Record<Exclude<Told, 'hidden'>, Told>> = { open: 'hidden', ended: 'open', shown: 'ended' }

/** The reader sees more of the call. Each step counts once, and only after the one before. */
export function told(call: CallState, what: keyof typeof BEFORE): CallState {
  return call.told === BEFORE[what] ? { ...call, told: what } : call
}

/** The order of the stages. An execution only moves forward, and may skip stages. A late outcome still counts after `cut off`. */
const ORDER: readonly Stage[] = [
  'wanted',
  'checking',
  'judged',
  'storing',
  'entered',
  'threw',
  'left',
  'cut off',
  'ended',
  'abandoned',
]

/** A wrap asks for one more execution. */
export function executionWanted(call: CallState, invocation: Invocation): CallState {
  return { ...call, executions: [...call.executions, { invocation, stage: 'wanted' }] }
}

/** 1: an execution has its slot and counts as an attempt. -1: its run stopped before its function was called, so it does not count. */
export function attemptCounted(call: CallState, which: Invocation, by: 1 | -1): CallState {
  const { executions, attempts } = call
  const one = executionOf(call, which)
  if (!one) return call
  const { isCounted: _, ...uncounted } = one
  const counted: ExecutionState = by === 1 ? { ...one, isCounted: true } : uncounted
  return { ...call, attempts: attempts + by, executions: executions.with(executions.indexOf(one), counted) }
}

/** An execution moves to this stage, unless it has reached or passed it. `judgement`: what is known of it from now on. */
export function movedTo(call: CallState, which: Invocation, stage: Stage, judgement?: Judgement): CallState {
  const one = executionOf(call, which)
  if (!one || ORDER.indexOf(stage) <= ORDER.indexOf(one.stage)) return call
  const { executions } = call
  return { ...call, executions: executions.with(executions.indexOf(one), movedOn(one, stage, judgement)) }
}

function movedOn(one: ExecutionState, stage: Stage, judgement: Judgement | undefined): ExecutionState {
  if (judgement) return { ...one, stage, judgement }
  return stage === 'entered' ? { ...one, stage, isEntered: true } : { ...one, stage }
}

/** If the outcome of an execution in an earlier process is known, the execution ends with that outcome and is not repeated. */
export function recalled(call: CallState, which: Invocation): CallState {
  const known = savedFor(which, call.knownOutcomes)
  if (!known) return call
  const without: CallState = { ...call, knownOutcomes: call.knownOutcomes?.filter((one) => one !== known) ?? [] }
  return movedTo(without, which, 'ended')
}

/** An execution, or a call that it makes, asks a question. */
export function executionAsked(call: CallState, which: Invocation): CallState {
  const one = executionOf(call, which)
  const { executions } = call
  return one ? { ...call, executions: executions.with(executions.indexOf(one), { ...one, hasAsked: true }) } : call
}

/** An execution is over. If it has no outcome yet, it was `left` or `cut off`. */
export function executionOver(call: CallState, which: Invocation): CallState {
  const isEntered = executionOf(call, which)?.isEntered
  return movedTo(call, which, isEntered ? 'cut off' : 'left')
}
