/**
 * What holds an execution back, read off the present state of the calls of its run. Nothing here changes that state.
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

import { keysMeet, namesNone, type ResourceKeys } from '../resource-keys.ts'

/** What the schedule asks about a call. */
export interface Sight<Call> {
  /** The keys of its executions. If its tool may name keys: `undefined` until its input is checked. */
  keys(call: Call): ResourceKeys | undefined
  /** Whether an execution of it has passed the second gate and is not over. */
  isExecuting(call: Call): boolean
  /** It does not start now, and no other call waits for it. */
  isAside(call: Call): boolean
  /** Its model call has not stood. Until then, an open call in front of it does not stop it. */
  isProvisional(call: Call): boolean
  /** It stays open until a resume. A call that must come after it stays open, too. */
  isStopped(call: Call): boolean
  /** Whether a call makes another one, directly or not. */
  isMakerOf(call: Call, other: Call): boolean
}

/** What an execution asks for at the second gate. */
export interface Claim {
  readonly keys: ResourceKeys
  /** Whether its call may do this before its model call has stood. */
  readonly mayBeEarly: boolean
}

/** An execution that waits at a gate. At the first gate it has no claim. */
export interface Turn<Call> {
  readonly call: Call
  readonly claim: Claim | undefined
}

/** What holds an execution back. */
export interface Obstacle<Call> {
  /** It holds the execution back at least until something of this call changes. It may be the execution's own call. */
  readonly call: Call
  /** That call stays open for a resume, so the execution does not happen before that either. */
  readonly isStop?: true
}

/**
 * The call that holds this execution back, if one does. Whether a slot is free is not asked here.
 *
 * @param order - The calls of the run that are not over, in call order.
 * @param inner - The calls that other calls of the run make, and that are not over.
 * @param limit - The slots of the run.
 */
export function obstacleOf<Call>(
  { call, claim }: Turn<Call>,
  order: readonly Call[],
  inner: Iterable<Call>,
  limit: number,
  sight: Sight<Call>,
): Obstacle<Call> | undefined {
  if (sight.isAside(call)) return { call }
  const isTooEarly = claim !== undefined && sight.isProvisional(call) && !claim.mayBeEarly
  const keys = limit === 1 ? 'all' : claim && !namesNone(claim.keys) ? claim.keys : undefined
  if (!keys) return isTooEarly ? { call } : undefined
  const place = order.indexOf(call)
  const first = place < 0 ? order.length : place
  const holdsBack = (other: Call) => isInTheWay(sight.keys(other), keys)
  const stopped = sight.isProvisional(call)
    ? undefined
    : inFront(order, first, (other) => waitsForResume(sight, other) && holdsBack(other))
  if (stopped !== undefined) return { call: stopped, isStop: true }
  const front = inFront(order, first, (other) => !sight.isAside(other) && holdsBack(other))
  if (front !== undefined) return { call: front }
  if (!claim) return undefined
  if (isTooEarly) return { call }
  // A call that executes holds its keys, even if it was discarded or stands behind.
  return keyHolderFor({ call, claim }, order, inner, sight)
}

/** The same for a call that has no place in call order: another call makes it, or it is the work of a background call. */
export function innerObstacleOf<Call>(
  { call, claim }: Turn<Call>,
  order: readonly Call[],
  inner: Iterable<Call>,
  sight: Sight<Call>,
): Obstacle<Call> | undefined {
  if (sight.isAside(call)) return { call }
  if (!claim) return undefined
  if (sight.isProvisional(call) && !claim.mayBeEarly) return { call }
  return namesNone(claim.keys) ? undefined : keyHolderFor({ call, claim }, order, inner, sight)
}

/** A call that executes and has a key that this claim cannot share with it. */
function keyHolderFor<Call>(
  { call, claim }: Turn<Call> & { readonly claim: Claim },
  order: readonly Call[],
  inner: Iterable<Call>,
  sight: Sight<Call>,
): Obstacle<Call> | undefined {
  const isHolder = (other: Call) =>
    other !== call &&
    sight.isExecuting(other) &&
    isInTheWay(sight.keys(other), claim.keys) &&
    !sight.isMakerOf(other, call)
  const holder = order.find(isHolder) ?? firstOf(inner, isHolder)
  return holder === undefined ? undefined : { call: holder }
}

function firstOf<Item>(items: Iterable<Item>, holds: (item: Item) => boolean): Item | undefined {
  for (const item of items) if (holds(item)) return item
  return undefined
}

/** The nearest call in front of a place for which `holds` is true. It is likely to be over last, so the execution is looked at seldom. */
function inFront<Call>(order: readonly Call[], place: number, holds: (other: Call) => boolean): Call | undefined {
  for (let index = place - 1; index >= 0; index--) {
    const other = order[index]
    if (other !== undefined && holds(other)) return other
  }
  return undefined
}

/** Whether a call with these keys is in the way of a claim. Unknown keys are in the way of every claim. */
function isInTheWay(keys: ResourceKeys | undefined, claimed: ResourceKeys | 'all'): boolean {
  return claimed === 'all' || !keys || keysMeet(keys, claimed)
}

/** Whether a call is committed, and stays open until a resume. */
function waitsForResume<Call>(sight: Sight<Call>, call: Call): boolean {
  return sight.isStopped(call) && !sight.isAside(call) && !sight.isProvisional(call)
}
