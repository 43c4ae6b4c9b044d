/** Whose turn it is among the executions that wait: each passes the two gates of schedule.ts. */

import { executionOf } from './call.ts'
import { CallSight, type Calls, callOf, needsSlot, type Waiting } from './calls.ts'
import { changed, decide } from './decide.ts'
import { moved, out } from './decide-call.ts'
import type { Invocation } from './invocation.ts'
import { obstacleOf } from './schedule.ts'

/** What an execution is due: its turn, once its tool has a slot for it; or to be told that this call, which waits for a resume, stops it. */
export type Due = { readonly is: 'turn' } | { readonly is: 'stop'; readonly by: number }

/** An execution waits for its turn, behind all others. */
export function waits(calls: Calls, call: number, invocation: Invocation): Waiting {
  const waiting: Waiting = { call, invocation, heldBack: undefined, awaitsSeat: false, seenIn: 0 }
  calls.waiting.add(waiting)
  return waiting
}

export function leaves({ waiting }: Calls, one: Waiting): void {
  waiting.delete(one)
}

/** It is its turn: it has all that it waited for. */
export function goes(calls: Calls, waiting: Waiting): void {
  const { call, invocation } = waiting
  leaves(calls, waiting)
  decide(calls, call, moved, invocation, isJudged(calls, waiting) ? 'storing' : 'checking')
}

/** An execution of a call takes the place of one that threw what ends the run, where there is one. */
export function replaces(calls: Calls, number: number, invocation: Invocation): boolean {
  const kept = callOf(calls, number).executions.find(({ stage }) => stage === 'threw')
  if (!kept) return false
  decide(calls, number, out, kept.invocation)
  decide(calls, number, moved, invocation, 'checking')
  changed(calls, number)
  return true
}

/** Its input is checked, and nothing but its turn is missing. */
export function isJudged(calls: Calls, { call, invocation }: Pick<Waiting, 'call' | 'invocation'>): boolean {
  return executionOf(callOf(calls, call), invocation)?.does !== undefined
}

/** What an execution that waits is due, if anything is. */
export function dueOf(calls: Calls, waiting: Waiting): Due | undefined {
  const { call, invocation } = waiting
  const state = callOf(calls, call)
  const limit = needsSlot(state) ? calls.limit : Number.POSITIVE_INFINITY
  const order = needsSlot(state) ? calls.order : []
  const claim = executionOf(state, invocation)?.does
  const obstacle = obstacleOf({ call, claim }, order, limit, new CallSight(calls))
  waiting.seenIn = calls.version
  waiting.heldBack = obstacle?.call
  waiting.awaitsSeat = false
  if (obstacle?.isStop) return { is: 'stop', by: obstacle.call }
  return obstacle || calls.holding >= limit ? undefined : { is: 'turn' }
}

/** Whether something has changed that an execution waits for. */
export function mustLook(calls: Calls, { call, heldBack, awaitsSeat, seenIn }: Waiting): boolean {
  const { changedIn, holding, limit } = calls
  const isNew = (number: number) => (changedIn.get(number) ?? 0) > seenIn
  if (isNew(call)) return true
  if (heldBack !== undefined) return isNew(heldBack)
  return !awaitsSeat && (holding < limit || !needsSlot(callOf(calls, call)))
}
