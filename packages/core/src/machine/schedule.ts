/**
 * What holds an execution back, read off the calls of its run as they are at this moment. It changes nothing and calls nobody.
 *
 * An execution passes two gates. At the first it takes a slot of its run, in which its input is checked. Only then is it known
 * which resource keys it names. At the second gate it takes its keys and a slot together, or neither: whoever waits holds nothing,
 * so no two wait for each other, and no slot is idle while another call may start.
 *
 * A call waits for the calls in front of it, in call order, that name one of its keys or may still name it, until they are over. A
 * call behind it holds it back only while it executes. With one slot a call waits for all calls in front of it.
 */

import { keysMeet, namesNone, type ResourceKeys } from './resource-keys.ts'

/** A call, as the schedule sees it. */
export interface Scheduled {
  /** What its executions touch; `undefined` until its input is checked, unless its tool names no keys. */
  readonly keys: ResourceKeys | undefined
  /** Whether an execution of it has passed the second gate and is not over. */
  readonly isExecuting: boolean
  /** Nobody asks for it now: it does not start, and nobody waits for it. */
  readonly aside: boolean
  /** Its model call has not stood: what would stop it waits until then. */
  readonly provisional: boolean
  /** Why it stays open until a resume, if it does. What must come after it stays open, too. */
  readonly stopped: Error | undefined
}

/** What an execution asks for at the second gate. */
export interface Claim {
  readonly keys: ResourceKeys
  /** Whether it does no more than its call may do before its model call has stood. */
  readonly mayBeEarly: boolean
}

/** An execution of a call. At the first gate it has no claim. */
export interface Turn<Call extends Scheduled> {
  readonly call: Call
  readonly claim: Claim | undefined
}

/** What holds an execution back. */
export interface Obstacle<Call> {
  /** As long as nothing of this call changes, it holds the execution back. It may be the execution's own call. */
  readonly call: Call
  /** The execution is not made before a resume, because that call is not. */
  readonly stopped?: Error
}

/**
 * What holds this execution back, if anything does except that no slot is free.
 *
 * @param order - The calls of the run that are not over, in call order.
 * @param limit - The slots of the run.
 */
export function obstacleOf<Call extends Scheduled>(
  { call, claim }: Turn<Call>,
  order: readonly Call[],
  limit: number,
): Obstacle<Call> | undefined {
  if (call.aside) return { call }
  const keys = limit === 1 ? 'all' : claim && !namesNone(claim.keys) ? claim.keys : undefined
  if (!keys) return claim && isTooEarly(call, claim) ? { call } : undefined
  const place = order.indexOf(call)
  const first = place < 0 ? order.length : place
  const stopped = call.provisional
    ? undefined
    : inFront(order, first, (other) => isStopped(other) && holdsBack(other, keys))
  if (stopped?.stopped) return { call: stopped, stopped: stopped.stopped }
  const front = inFront(order, first, (other) => !other.aside && holdsBack(other, keys))
  if (front) return { call: front }
  if (!claim) return undefined
  if (isTooEarly(call, claim)) return { call }
  // Also one that nobody asks for any more, or that stands behind.
  const user = order.find((other) => other.isExecuting && other !== call && holdsBack(other, claim.keys))
  return user && { call: user }
}

/** The nearest call in front of a place for which that holds: the one that is over last, so that an execution is looked at seldom. */
function inFront<Call>(order: readonly Call[], place: number, holds: (other: Call) => boolean): Call | undefined {
  for (let index = place - 1; index >= 0; index--) {
    const other = order[index]
    if (other && holds(other)) return other
  }
  return undefined
}

/** Whether a call in front must be over first. */
function holdsBack(call: Scheduled, claimed: ResourceKeys | 'all'): boolean {
  return claimed === 'all' || !call.keys || keysMeet(call.keys, claimed)
}

/** It is certain that it is made, and that it waits for a resume. */
function isStopped(call: Scheduled): boolean {
  return call.stopped !== undefined && !call.aside && !call.provisional
}

function isTooEarly({ provisional }: Scheduled, { mayBeEarly }: Claim): boolean {
  return provisional && !mayBeEarly
}
