/**
 * What holds an execution back, read off the present state of the calls of its run. It only reads that state.
 *
 * An execution passes two gates. At the first it takes a slot of its run, and its input is checked: after that its resource keys are
 * known. It gives the slot back. At the second gate it takes its keys and a slot together, or nothing. An execution that waits holds
 * nothing, so no two executions wait for each other, and no slot is idle while another call may start.
 *
 * A call waits for each call in front of it, in call order, that names one of its keys or may still name one, until that call is over.
 * A call behind it holds it back only while that call executes. If the run has one slot, a call waits for all calls in front of it.
 *
 * A call that another one makes has no place in call order and needs no slot of the run: it works in the place and in the slot of its
 * maker. It waits for its keys only while other calls execute that name them. Its makers do not hold it back.
 */

import { keysMeet, namesNone, type ResourceKeys } from '../vocabulary/resource-keys.ts'
import { type CallState, hasKeys, isSetAside, type Judgement } from './call.ts'
import { awaitsNextAttempt, type Calls, callOf, isMakerOf, keysIn, needsSlot } from './calls.ts'

/** What holds an execution back. */
export interface Obstacle {
  /** It holds the execution back at least until something of this call changes. It may be the execution's own call. */
  readonly call: number
  /** That call stays open for a resume, so the execution does not happen before that either. */
  readonly isStop?: true
}

/**
 * The call that holds an execution of this call back, if one does. It does not look whether a slot is free.
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
    // Work in the background goes on under no key.
    return call.work || namesNone(judgement.keys) ? undefined : keyHolderFor(calls, call, judgement)
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
  // A call that executes holds its keys, even if it was discarded or stands behind.
  return keyHolderFor(calls, call, judgement)
}

/** A call that executes and has a key that this execution cannot share with it. */
function keyHolderFor(calls: Calls, call: CallState, { keys }: Judgement): Obstacle | undefined {
  const isHolder = (number: number) => {
    const other = callOf(calls, number)
    const isExecuting = other.course === 'begun' && other.executions.some(hasKeys)
    return number !== call.number && isExecuting && isInTheWay(other, keys) && !isMakerOf(calls, number, call.number)
  }
  const holder = calls.order.find(isHolder) ?? firstOf(calls.inner, isHolder)
  return holder === undefined ? undefined : { call: holder }
}

function firstOf<Item>(items: Iterable<Item>, holds: (item: Item) => boolean): Item | undefined {
  for (const item of items) if (holds(item)) return item
  return undefined
}

/** The nearest call in front, in call order, that is in the way. It is likely to be over last, so the execution is looked at seldom. */
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

/** Whether a call is in the way of whoever claims these keys. One whose keys are not known yet is in everybody's way. */
function isInTheWay(other: CallState, claimed: ResourceKeys | 'all'): boolean {
  const keys = keysIn(other)
  return claimed === 'all' || !keys || keysMeet(keys, claimed)
}

/** Whether a call does not start now, and no other call waits for it. */
function isAsideIn(calls: Calls, call: CallState): boolean {
  return isSetAside(call, awaitsNextAttempt(calls, call))
}

/** Whether a call is committed, and stays open until a resume. A call that must come after it stays open, too. */
function staysOpen(calls: Calls, call: CallState): boolean {
  return call.course === 'open' && !isAsideIn(calls, call) && call.fate !== 'provisional'
}
