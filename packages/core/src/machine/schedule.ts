/**
 * What holds an execution back, read off the calls of its run as they are at this moment. It changes nothing and calls nobody.
 *
 * An execution passes two gates. At the first it takes a slot of its run, in which its input is checked. Only then is it known
 * which resource keys it names. At the second gate it takes its keys and a slot together, or neither: whoever waits holds nothing,
 * so no two wait for each other, and no slot is idle while another call may start.
 *
 * A call waits for the calls in front of it, in call order, that name one of its keys or may still name it, until they are over. A
 * call behind it holds it back only while it executes. With one slot a call waits for all calls in front of it.
 *
 * A call that another one makes has no place in call order and needs no slot of the run: it works in the place and in the slot of its
 * maker. It waits for its keys while other calls execute that name them, except for the calls that it works for.
 */

import { keysMeet, namesNone, type ResourceKeys } from './resource-keys.ts'

/** What the schedule asks about a call. */
export interface Sight<Call> {
  /** What its executions touch; `undefined` until its input is checked, unless its tool names no keys. */
  keys(call: Call): ResourceKeys | undefined
  /** Whether an execution of it has passed the second gate and is not over. */
  isExecuting(call: Call): boolean
  /** Nobody asks for it now: it does not start, and nobody waits for it. */
  isAside(call: Call): boolean
  /** Its model call has not stood: what would stop it waits until then. */
  isProvisional(call: Call): boolean
  /** It stays open until a resume. What must come after it stays open, too. */
  isStopped(call: Call): boolean
  /** Whether a call makes another one, directly or not. */
  isMakerOf(call: Call, other: Call): boolean
}

/** What an execution asks for at the second gate. */
export interface Claim {
  readonly keys: ResourceKeys
  /** Whether it does no more than its call may do before its model call has stood. */
  readonly mayBeEarly: boolean
}

/** An execution of a call. At the first gate it has no claim. */
export interface Turn<Call> {
  readonly call: Call
  readonly claim: Claim | undefined
}

/** What holds an execution back. */
export interface Obstacle<Call> {
  /** As long as nothing of this call changes, it holds the execution back. It may be the execution's own call. */
  readonly call: Call
  /** The execution is not made before a resume, because that call is not. */
  readonly isStop?: true
}

/**
 * What holds this execution back, if anything does except that no slot is free.
 *
 * @param order - The calls of the run that are not over, in call order.
 * @param inner - Those that calls of the run make, and that are not over.
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
    : inFront(order, first, (other) => isStopped(sight, other) && holdsBack(other))
  if (stopped !== undefined) return { call: stopped, isStop: true }
  const front = inFront(order, first, (other) => !sight.isAside(other) && holdsBack(other))
  if (front !== undefined) return { call: front }
  if (!claim) return undefined
  if (isTooEarly) return { call }
  // Also one that nobody asks for any more, or that stands behind.
  return userOf({ call, claim }, order, inner, sight)
}

/** The same for a call that another one makes. */
export function innerObstacleOf<Call>(
  { call, claim }: Turn<Call>,
  order: readonly Call[],
  inner: Iterable<Call>,
  sight: Sight<Call>,
): Obstacle<Call> | undefined {
  if (sight.isAside(call)) return { call }
  if (!claim) return undefined
  if (sight.isProvisional(call) && !claim.mayBeEarly) return { call }
  return namesNone(claim.keys) ? undefined : userOf({ call, claim }, order, inner, sight)
}

/** A call that executes and names a key that this one must have without it. */
function userOf<Call>(
  { call, claim }: Turn<Call> & { readonly claim: Claim },
  order: readonly Call[],
  inner: Iterable<Call>,
  sight: Sight<Call>,
): Obstacle<Call> | undefined {
  const isUser = (other: Call) =>
    other !== call &&
    sight.isExecuting(other) &&
    isInTheWay(sight.keys(other), claim.keys) &&
    !sight.isMakerOf(other, call)
  const user = order.find(isUser) ?? firstOf(inner, isUser)
  return user === undefined ? undefined : { call: user }
}

function firstOf<Item>(items: Iterable<Item>, holds: (item: Item) => boolean): Item | undefined {
  for (const item of items) if (holds(item)) return item
  return undefined
}

/** The nearest call in front of a place for which that holds: the one that is over last, so that an execution is looked at seldom. */
function inFront<Call>(order: readonly Call[], place: number, holds: (other: Call) => boolean): Call | undefined {
  for (let index = place - 1; index >= 0; index--) {
    const other = order[index]
    if (other !== undefined && holds(other)) return other
  }
  return undefined
}

/** Whether a call that touches these keys must be over first. */
function isInTheWay(keys: ResourceKeys | undefined, claimed: ResourceKeys | 'all'): boolean {
  return claimed === 'all' || !keys || keysMeet(keys, claimed)
}

/** It is certain that it is made, and that it waits for a resume. */
function isStopped<Call>(sight: Sight<Call>, call: Call): boolean {
  return sight.isStopped(call) && !sight.isAside(call) && !sight.isProvisional(call)
}
