/**
 * Finds out which call blocks an execution, from the state of the calls of its run. It only reads that state.
 *
 * An execution passes two gates. At the first it takes a slot of its run, and its input is checked: after that its resource keys are known.
 * It returns the slot. At the second gate it takes its keys and a slot together, or neither. A waiting execution holds nothing, so no two
 * executions wait for each other, and no slot is idle while another call may start.
 *
 * A call waits for each call before it in call order that names one of its keys, or may still name one, until that call is over. A later
 * call blocks it only while that call executes. If the run has one slot, a call waits for all calls before it.
 *
 * An inner call has no place in call order and needs no slot of the run: it uses the place and the slot of its maker. It waits for its keys
 * while other calls that name them execute, and while an earlier call of the same maker waits for them. Its makers do not block it.
 */

import { keysMeet, namesNone, type ResourceKeys } from '../vocabulary/resource-keys.ts'
import { type CallState, hasKeys, isSetAside, type Judgement } from './call.ts'
import { awaitsNextAttempt, type Calls, callOf, isMakerOf, keysIn, needsSlot } from './calls.ts'

/** What blocks an execution. */
export interface Obstacle {
  /** The execution is blocked at least until this call changes. It may be the execution's own call. */
  readonly call: number
  /** That call stays open for a resume, so the execution does not happen before that either. */
  readonly isStop?: true
}

/**
 * The call that blocks an execution of this call, if there is one. Does not check whether a slot is free.
 *
 * @param judgement - What the execution does. Known at the second gate only.
 */
export function obstacleOf(calls: Calls, call: CallState, judgement: Judgement | undefined): Obstacle | undefined {
  const itself = { call: call.number }
  if (isAsideIn(calls, call)) return itself
  const isTooEarly = judgement?.mayBeEarly === false && call.fate === 'provisional'
  if (!needsSlot(call)) {
    if (!judgement) return undefined
    if (isTooEarly) return itself
    // Work in the background takes no keys.
    if (call.work || namesNone(judgement.keys)) return undefined
    return keyHolderFor(calls, call, judgement) ?? siblingBefore(calls, call, judgement)
  }
  const keys = calls.limit === 1 ? 'all' : judgement && !namesNone(judgement.keys) ? judgement.keys : undefined
  if (!keys) return isTooEarly ? itself : undefined
  const stopped =
    call.fate === 'provisional' ? undefined : inFront(calls, call, keys, (other) => staysOpen(calls, other))
  if (stopped) return { call: stopped.number, isStop: true }
  const front = inFront(calls, call, keys, (other) => !isAsideIn(calls, other))
  if (front) return { call: front.number }
  if (!judgement) return undefined
  if (isTooEarly) return itself
  // A call that executes holds its keys, even if it was discarded or comes later in call order.
  return keyHolderFor(calls, call, judgement)
}

/** A call that is executing and holds a key that this execution cannot share with it. */
function keyHolderFor(calls: Calls, call: CallState, { keys }: Judgement): Obstacle | undefined {
  const isHolder = (other: CallState) => {
    const isExecuting = other.course === 'begun' && other.executions.some(hasKeys)
    const isOther = other.number !== call.number && !isMakerOf(calls, other.number, call.number)
    return isExecuting && isOther && isInTheWay(other, keys)
  }
  return firstOf(calls, calls.order, isHolder) ?? firstOf(calls, calls.inner, isHolder)
}

/** A call that the same maker made before this one, that waits for its turn or its commit, and that must not be overtaken. */
function siblingBefore(calls: Calls, { number, maker }: CallState, { keys }: Judgement): Obstacle | undefined {
  return firstOf(calls, calls.inner, (other) => {
    if (other.maker !== maker || other.number >= number || other.course !== 'begun') return false
    return other.executions.some((own) => own.stage === 'judged' && own.judgement && keysMeet(own.judgement.keys, keys))
  })
}

function firstOf(calls: Calls, numbers: Iterable<number>, blocks: (one: CallState) => boolean): Obstacle | undefined {
  for (const call of numbers) if (blocks(callOf(calls, call))) return { call }
  return undefined
}

/** The nearest earlier call that blocks. It is likely to finish last, so the execution is seldom examined again. */
function inFront(
  calls: Calls,
  call: CallState,
  keys: ResourceKeys | 'all',
  holds: (other: CallState) => boolean,
): CallState | undefined {
  const place = calls.order.indexOf(call.number)
  for (let index = (place < 0 ? calls.order.length : place) - 1; index >= 0; index--) {
    const other = callOf(calls, calls.order[index] ?? 0)
    if (holds(other) && isInTheWay(other, keys)) return other
  }
  return undefined
}

/** Whether a call blocks an execution that claims these keys. A call whose keys are not known yet blocks all keys. */
function isInTheWay(other: CallState, claimed: ResourceKeys | 'all'): boolean {
  const keys = keysIn(other)
  return claimed === 'all' || !keys || keysMeet(keys, claimed)
}

/** Whether a call does not start now, and no other call waits for it. */
function isAsideIn(calls: Calls, call: CallState): boolean {
  return isSetAside(call, awaitsNextAttempt(calls, call))
}

/** Whether a committed call stays open until a resume. A call that must come after it then stays open, too. */
function staysOpen(calls: Calls, call: CallState): boolean {
  return call.course === 'open' && !isAsideIn(calls, call) && call.fate !== 'provisional'
}
