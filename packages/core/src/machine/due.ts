/** Decides when an execution that waits at one of the two gates of obstacle.ts may go on, or why it never will. */

import type { Invocation } from '../vocabulary/saved-run.ts'
import { type CallState, executionOf, hasSettled } from './call.ts'
import { askerOf, type Calls, callOf, needsSlot, type WaitingExecution } from './calls.ts'
import { executionOver, movedTo } from './decide-call.ts'
import { decideCall } from './decide-calls.ts'
import { obstacleOf } from './obstacle.ts'

/**
 * What happens to a waiting execution. `turn`: it may go on if its tool has a slot for it. `stop`: the call `by` blocks it and stays open
 * for a resume, so this execution does not happen before that. `circle`: the call `by` blocks it, and itself waits for this call.
 */
export type Due = { readonly is: 'turn' } | { readonly is: 'stop' | 'circle'; readonly by: number }

/** An execution reaches a gate. It is not waiting until {@link beginsToWait} is called. */
export function arrived(call: number, invocation: Invocation): WaitingExecution {
  return { call, invocation, blockedBy: undefined, awaitsToolSlot: false, lookedAtIn: 0 }
}

/** The execution begins to wait, behind all that are waiting already. */
export function beginsToWait({ waiting }: Calls, one: WaitingExecution): void {
  waiting.add(one)
}

export function stopsWaiting({ waiting }: Calls, one: WaitingExecution): void {
  waiting.delete(one)
}

/** The execution goes on: it has everything that its gate requires. */
export function takesTurn(calls: Calls, waiting: WaitingExecution): void {
  stopsWaiting(calls, waiting)
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

/** Whether the tool of a waiting execution has no slot for it. */
export function awaitsTool(waiting: WaitingExecution, isFull: boolean): void {
  waiting.awaitsToolSlot = isFull
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
  const isAwaited = maker !== undefined || askerOf(calls, number) !== undefined
  return blockedBy !== number && isAwaited && endsAfter(calls, blockedBy, number)
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
