/**
 * Decides when a waiting execution may go on, or why it never will.
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
import type { Invocation } from '../vocabulary/saved-run.ts'
import { type CallState, executionOf, hasKeys, hasSettled, type Judgement } from './call.ts'
import { askerOf, type Calls, callOf, isMakerOf, keysIn, needsSlot, type WaitingExecution } from './calls.ts'
import { executionOver, movedTo } from './decide-call.ts'
import { decideCall } from './decide-calls.ts'

/**
 * What happens to a waiting execution. `turn`: it may go on if its tool has a slot for it. `stop`: the call `by` blocks it and stays open
 * for a resume, so this execution does not happen before that. `circle`: the call `by` blocks it, and itself waits for this call.
 */
export type Due = { readonly is: 'turn' } | { readonly is: 'stop' | 'circle'; readonly by: number }

/** An execution reaches a gate. It is not waiting until {@link Calls.waiting} has it. */
export function arrived(call: number, invocation: Invocation): WaitingExecution {
  return { call, invocation, blockedBy: undefined, awaitsToolSlot: false, lookedAtIn: 0 }
}

/** The execution goes on: it has everything that its gate requires. */
export function takesTurn(calls: Calls, waiting: WaitingExecution): void {
  calls.waiting.delete(waiting)
  decideCall(
    calls,
    movedTo(callOf(calls, waiting.call), waiting.invocation, isJudged(calls, waiting) ? 'storing' : 'checking'),
  )
}

/** An execution takes the slot of an execution of the same call that threw an error that ends the run. Returns that one, if it exists. */
export function takesOverSlot(calls: Calls, number: number, invocation: Invocation): Invocation | undefined {
  const kept = callOf(calls, number).executions.find(({ stage }) => stage === 'threw')
  if (!kept) return undefined
  decideCall(calls, executionOver(callOf(calls, number), kept.invocation))
  decideCall(calls, movedTo(callOf(calls, number), invocation, 'checking'))
  return kept.invocation
}

/** Whether the input of an execution is checked, so that it waits at the second gate. */
export function isJudged(calls: Calls, { call, invocation }: Pick<WaitingExecution, 'call' | 'invocation'>): boolean {
  return executionOf(callOf(calls, call), invocation)?.judgement !== undefined
}

/** What happens to an execution at its gate; `undefined`: it waits. Records in `waiting` what blocks it. */
export function dueOf(calls: Calls, waiting: WaitingExecution): Due | undefined {
  const call = callOf(calls, waiting.call)
  const obstacle = obstacleOf(calls, call, executionOf(call, waiting.invocation)?.judgement)
  waiting.lookedAtIn = calls.version
  waiting.blockedBy = obstacle?.call
  waiting.awaitsToolSlot = false
  if (obstacle?.isStop) return { is: 'stop', by: obstacle.call }
  if (obstacle) return isCircle(calls, call, obstacle.call) ? { is: 'circle', by: obstacle.call } : undefined
  return hasRoom(calls, call) ? TURN : undefined
}

const TURN: Due = { is: 'turn' }

/** Whether a call that something waits for, its maker or a tool that asks for it, is blocked by a call that ends only after it: a circle. */
function isCircle(calls: Calls, { number, maker }: CallState, blockedBy: number): boolean {
  // A circle of two calls of one maker contains the maker, and was found when the earlier call began to wait.
  const mayBe = maker === undefined ? askerOf(calls, number) !== undefined : callOf(calls, blockedBy).maker !== maker
  return blockedBy !== number && mayBe && endsAfter(calls, blockedBy, number)
}

/** Whether `one` cannot end before `other` has: one of its inner calls, or a call that its tool asks for, is blocked by it, directly or not. */
export function endsAfter(calls: Calls, one: number, other: number, seen: Set<number> = new Set()): boolean {
  if (one === other) return true
  const call = calls.all.get(one)
  if (!call || hasSettled(call) || seen.has(one)) return false
  seen.add(one)
  const awaited = [...call.children, ...(calls.asked.get(one) ?? [])]
  if (awaited.some((next) => endsAfter(calls, next, other, seen))) return true
  // It spares a search through all waiting executions.
  if (!call.executions.some(({ stage }) => stage === 'wanted' || stage === 'judged')) return false
  for (const { call: waiting, blockedBy } of calls.waiting)
    if (waiting === one && blockedBy !== undefined && endsAfter(calls, blockedBy, other, seen)) return true
  return false
}

/** Whether a slot is free for a call: a slot of its run or, for an inner call, one of its maker. A tool that asks for a call lends it its own. */
function hasRoom(calls: Calls, call: CallState): boolean {
  if (needsSlot(call)) return calls.slotsTaken < calls.limit || isNeeded(calls, call.number)
  return call.maker === undefined || (calls.innerSlotsTaken.get(call.maker) ?? 0) < calls.innerLimit
}

/** Whether a running tool asks for a call, or for one that this call blocks, directly or not. */
function isNeeded(calls: Calls, number: number, seen: Set<number> = new Set()): boolean {
  if (calls.asked.size === 0 || seen.has(number)) return false
  seen.add(number)
  if (askerOf(calls, number) !== undefined) return true
  for (const { call, blockedBy } of calls.waiting)
    if (blockedBy === number && call !== number && isNeeded(calls, call, seen)) return true
  return false
}

/** Whether a waiting execution must be examined again, because something that it waits for has changed. */
export function mustLook(calls: Calls, { call, blockedBy, awaitsToolSlot, lookedAtIn }: WaitingExecution): boolean {
  const { changedIn } = calls
  const isNew = (number: number) => (changedIn.get(number) ?? 0) > lookedAtIn
  if (isNew(call)) return true
  if (blockedBy !== undefined) return isNew(blockedBy)
  return !awaitsToolSlot && hasRoom(calls, callOf(calls, call))
}

/** What blocks an execution. */
interface Obstacle {
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
function obstacleOf(calls: Calls, call: CallState, judgement: Judgement | undefined): Obstacle | undefined {
  const itself = { call: call.number }
  if (isAside(calls, call)) return itself
  const isTooEarly = judgement?.mayBeEarly === false && call.fate === 'provisional'
  if (!needsSlot(call)) {
    if (isTooEarly) return itself
    // Work in the background takes no keys.
    if (!judgement || call.work || namesNone(judgement.keys)) return undefined
    return siblingBefore(calls, call, judgement) ?? keyHolderFor(calls, call, judgement)
  }
  const keys = calls.limit === 1 ? 'all' : judgement && !namesNone(judgement.keys) ? judgement.keys : undefined
  if (!keys) return isTooEarly ? itself : undefined
  const stopped = call.fate === 'provisional' ? undefined : inFront(calls, call, keys, staysOpen)
  if (stopped) return { ...stopped, isStop: true }
  const front = inFront(calls, call, keys, (other) => !isAside(calls, other))
  if (front) return front
  if (isTooEarly) return itself
  // A call that executes holds its keys, even if it was discarded or comes later in call order.
  return judgement && keyHolderFor(calls, call, judgement)
}

/** A call that is executing and holds a key that this execution cannot share with it. */
function keyHolderFor(calls: Calls, call: CallState, { keys }: Judgement): Obstacle | undefined {
  return firstOf(calls, [...calls.order, ...calls.inner], (other) => {
    const isExecuting = other.course === 'begun' && other.executions.some(hasKeys)
    const isOther = other.number !== call.number && !isMakerOf(calls, other.number, call.number)
    return isExecuting && isOther && isInTheWay(other, keys)
  })
}

/**
 * The nearest call that the same maker made before this one, that waits for its turn or its commit, and that must not be overtaken. If all waited for
 * the holder of the key, each end would examine all.
 */
function siblingBefore(calls: Calls, { number, maker }: CallState, { keys }: Judgement): Obstacle | undefined {
  return firstOf(calls, [...calls.inner].reverse(), (other) => {
    if (other.maker !== maker || other.number >= number || other.course !== 'begun') return false
    return other.executions.some((own) => own.stage === 'judged' && own.judgement && keysMeet(own.judgement.keys, keys))
  })
}

function firstOf(calls: Calls, numbers: readonly number[], blocks: (one: CallState) => boolean): Obstacle | undefined {
  for (const call of numbers) if (blocks(callOf(calls, call))) return { call }
  return undefined
}

/** The nearest earlier call that blocks. It is likely to finish last, so the execution is seldom examined again. */
function inFront(
  calls: Calls,
  { number }: CallState,
  keys: ResourceKeys | 'all',
  holds: (other: CallState) => boolean,
): Obstacle | undefined {
  const place = calls.order.indexOf(number)
  const before = calls.order.slice(0, place < 0 ? undefined : place).reverse()
  return firstOf(calls, before, (other) => holds(other) && isInTheWay(other, keys))
}

/** Whether a call blocks an execution that claims these keys. A call whose keys are not known yet blocks all keys. */
function isInTheWay(other: CallState, claimed: ResourceKeys | 'all'): boolean {
  const keys = keysIn(other)
  return claimed === 'all' || !keys || keysMeet(keys, claimed)
}

/**
 * Whether a call does not start now, and no other call waits for it: it is asleep, it was discarded, or it waits for a later attempt with an equal
 * request, because only failed attempts request it.
 */
function isAside({ response }: Calls, { course, fate, requestedBy }: CallState): boolean {
  if (course === 'asleep' || fate !== 'provisional') return course === 'asleep' || fate === 'discarded'
  return requestedBy.length > 0 && requestedBy.every((one) => response.attempts.get(one)?.hasFailed)
}

/** Whether a committed call stays open until a resume. A call that must come after it then stays open, too. */
function staysOpen({ course, fate }: CallState): boolean {
  return course === 'open' && fate === 'committed'
}
