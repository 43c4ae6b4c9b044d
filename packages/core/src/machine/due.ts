/** Decides when an execution may go on that waits at one of the two gates of obstacle.ts, or why it never will. */

import type { Invocation } from '../vocabulary/saved-run.ts'
import { type CallState, executionOf } from './call.ts'
import { type Calls, callOf, isMakerOf, needsSlot, type WaitingExecution } from './calls.ts'
import { executionOver, movedTo } from './decide-call.ts'
import { callChanged, decideCall } from './decide-calls.ts'
import { obstacleOf } from './obstacle.ts'

/**
 * What happens to an execution that waits. `turn`: it may go on, if its tool has a slot for it. `stop`: the call `by` holds it back and
 * stays open for a resume, so this execution does not happen before that. `circle`: the call `by` holds it back, and waits itself for a
 * maker of this call.
 */
export type Due = { readonly is: 'turn' } | { readonly is: 'stop' | 'circle'; readonly by: number }

/** An execution comes to a gate. It waits there only once {@link beginsToWait} says so. */
export function arrived(call: number, invocation: Invocation): WaitingExecution {
  return { call, invocation, blockedBy: undefined, awaitsToolSlot: false, lookedAtIn: 0 }
}

/** It begins to wait, behind all that wait already. */
export function beginsToWait({ waiting }: Calls, one: WaitingExecution): void {
  waiting.add(one)
}

export function stopsWaiting({ waiting }: Calls, one: WaitingExecution): void {
  waiting.delete(one)
}

/** It is the turn of an execution: it has all that it needs at its gate. */
export function takesTurn(calls: Calls, waiting: WaitingExecution): void {
  stopsWaiting(calls, waiting)
  decideCall(
    calls,
    movedTo(callOf(calls, waiting.call), waiting.invocation, isJudged(calls, waiting) ? 'storing' : 'checking'),
  )
}

/** An execution takes the slot of one of the same call that threw what ends the run. Returns which that is, if there is one. */
export function takesOverSlot(calls: Calls, number: number, invocation: Invocation): Invocation | undefined {
  const kept = callOf(calls, number).executions.find(({ stage }) => stage === 'threw')
  if (!kept) return undefined
  decideCall(calls, executionOver(callOf(calls, number), kept.invocation))
  decideCall(calls, movedTo(callOf(calls, number), invocation, 'checking'))
  callChanged(calls, number)
  return kept.invocation
}

/** Whether the input of an execution is checked: it waits at the second gate. */
export function isJudged(calls: Calls, { call, invocation }: Pick<WaitingExecution, 'call' | 'invocation'>): boolean {
  return executionOf(callOf(calls, call), invocation)?.judgement !== undefined
}

/** The tool of an execution that waits has no slot for it; `false`: it may have one again. */
export function awaitsTool(waiting: WaitingExecution, isFull: boolean): void {
  waiting.awaitsToolSlot = isFull
}

/** What happens to an execution at its gate; `undefined`: it waits. Notes in `waiting` what holds it back. */
export function dueOf(calls: Calls, waiting: WaitingExecution): Due | undefined {
  const call = callOf(calls, waiting.call)
  const obstacle = obstacleOf(calls, call, executionOf(call, waiting.invocation)?.judgement)
  waiting.lookedAtIn = calls.version
  waiting.blockedBy = obstacle?.call
  waiting.awaitsToolSlot = false
  if (obstacle?.isStop) return { is: 'stop', by: obstacle.call }
  if (obstacle)
    return waitsForMaker(calls, obstacle.call, call.number) ? { is: 'circle', by: obstacle.call } : undefined
  return hasRoom(calls, call) ? TURN : undefined
}

const TURN: Due = { is: 'turn' }

/**
 * Whether `other`, which holds `call` back, waits for a maker of `call`: that maker holds back a call that `other` makes, or a third call
 * does which waits for that maker in the same way. Then both would wait for ever.
 */
function waitsForMaker(calls: Calls, other: number, call: number, seen: Set<number> = new Set()): boolean {
  if (callOf(calls, call).maker === undefined || seen.has(other)) return false
  seen.add(other)
  if (!makesOneThatWaits(calls, other)) return false
  for (const { call: waiting, blockedBy } of calls.waiting) {
    if (blockedBy === undefined || waiting === call || !isMakerOf(calls, other, waiting)) continue
    if (isMakerOf(calls, blockedBy, call) || waitsForMaker(calls, blockedBy, call, seen)) return true
  }
  return false
}

/** Whether a call that this one makes, directly or not, may wait: so that not every execution that waits is looked at in vain. */
function makesOneThatWaits(calls: Calls, maker: number): boolean {
  return (calls.all.get(maker)?.children ?? []).some(
    (child) =>
      calls.all.get(child)?.executions.some(({ stage }) => stage === 'wanted' || stage === 'judged') ||
      makesOneThatWaits(calls, child),
  )
}

/** Whether a slot is free for a call: one of its run, or of those that its maker has for the calls it makes. */
function hasRoom(calls: Calls, call: CallState): boolean {
  if (needsSlot(call)) return calls.slotsTaken < calls.limit
  return call.maker === undefined || (calls.innerSlotsTaken.get(call.maker) ?? 0) < calls.innerLimit
}

/** Whether an execution that waits must be looked at again: something has changed that it waits for. */
export function mustLook(calls: Calls, { call, blockedBy, awaitsToolSlot, lookedAtIn }: WaitingExecution): boolean {
  const { changedIn } = calls
  const isNew = (number: number) => (changedIn.get(number) ?? 0) > lookedAtIn
  if (isNew(call)) return true
  if (blockedBy !== undefined) return isNew(blockedBy)
  return !awaitsToolSlot && hasRoom(calls, callOf(calls, call))
}
