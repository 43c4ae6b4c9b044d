/** What happens to the calls of a run: each function takes a fact and changes the state at once, for all calls that it concerns. */

import type { DiscardCause } from '../events.ts'
import { type CallState, hasSettled, holdsSlot } from './call.ts'
import { type Calls, callOf, isInputOpen, needsSlot } from './calls.ts'
import { aborted, askedBy, committed, discarded, kept, renamed, withChild } from './decide-call.ts'

/** A fact about one call, of decide-call.ts. Gives whether it changes anything. */
export function decide<Given extends readonly unknown[]>(
  calls: Calls,
  number: number,
  fact: (call: CallState, ...given: Given) => CallState,
  ...given: Given
): boolean {
  const before = callOf(calls, number)
  const after = fact(before, ...given)
  if (after === before) return false
  calls.all.set(number, after)
  if (after.executions !== before.executions || after.course !== before.course)
    calls.holding += slotsOf(after) - slotsOf(before)
  return true
}

/** How many slots of its run a call has. */
export function slotsOf(call: CallState): number {
  if (!needsSlot(call) || hasSettled(call)) return 0
  let slots = 0
  for (const one of call.executions) if (holdsSlot(one)) slots++
  return slots
}

/** Something of a call has changed that others may wait for. */
export function changed(calls: Calls, number: number): void {
  if (calls.waiting.size > 0) calls.changedIn.set(number, ++calls.version)
}

/** A model call begins: nobody asks for what the one before it has asked for. */
export function modelCalled({ response }: Calls): void {
  response.isOpen = true
  response.attempts.clear()
  response.askedBy.clear()
}

/** An attempt announces a call. The first that does counts: gives whether this one is. */
export function announced({ response }: Calls, id: string, attempt: number): boolean {
  if (response.askedBy.has(id)) return false
  response.askedBy.set(id, attempt)
  if (!response.attempts.has(attempt)) response.attempts.set(attempt, {})
  return true
}

/** The stream of an attempt is over, at this time. If it broke off, no call of it starts any more. */
export function attemptEnded(calls: Calls, attempt: number, ended: number, isOver: boolean): void {
  calls.response.attempts.set(attempt, { ended, isOver })
  if (isOver) for (const { number, by } of calls.all.values()) if (by.includes(attempt)) changed(calls, number)
}

/** The model call has stood, or has failed: nothing is made early any more. */
export function responseEnded({ response }: Calls): void {
  response.isOpen = false
}

/** A call is made. It gets its place in call order, behind all others. */
export function made(calls: Calls, call: Omit<CallState, 'number' | 'children'>): number {
  const number = ++calls.made
  calls.all.set(number, { ...call, number, children: [] })
  if (needsSlot(call)) calls.order.push(number)
  if (call.maker !== undefined) calls.inner.add(number)
  // Its maker may be forgotten, and go on all the same.
  if (call.maker !== undefined && calls.all.has(call.maker)) decide(calls, call.maker, withChild, number)
  changed(calls, number)
  return number
}

/** A further attempt asks for a call. It goes on under the id that it has there, behind all others. */
export function joined(calls: Calls, number: number, id: string, attempt: number): void {
  decide(calls, number, renamed, id)
  decide(calls, number, askedBy, attempt)
  movedBack(calls, number)
}

/** A call, if it may still hold others back, stands behind all others. */
export function movedBack(calls: Calls, number: number): void {
  if (calls.order.includes(number)) reopened(calls, number)
}

/** A call that may be over gets its place in call order, behind all others. */
export function reopened(calls: Calls, number: number): void {
  const place = calls.order.indexOf(number)
  if (place >= 0) calls.order.splice(place, 1)
  calls.order.push(number)
  changed(calls, number)
}

/** A call is over: it holds nobody back any more. One that waits for a resume keeps its place, but nothing else. */
export function closed(calls: Calls, number: number): void {
  const { course } = callOf(calls, number)
  const place = calls.order.indexOf(number)
  if (course !== 'open' && place >= 0) calls.order.splice(place, 1)
  calls.inner.delete(number)
  changed(calls, number)
  // Whatever else they wait for.
  if (course === 'open') for (const { call } of calls.waiting) changed(calls, call)
}

/** The model call has stood, and asks for a call. Gives which calls are committed by that: with it those that it makes. */
export function stands(calls: Calls, number: number, at: number, modelEnded: number | undefined): ReadonlySet<number> {
  const all = new Set<number>()
  const commit = (one: number) => {
    movedBack(calls, one)
    if (!decide(calls, one, committed, at, modelEnded)) return
    all.add(one)
    for (const child of callOf(calls, one).children) commit(child)
  }
  commit(number)
  return all
}

/** Nobody asks for a call any more. Gives which calls are discarded by that, innermost first: with it those that it makes. */
export function withdrawn(calls: Calls, number: number, cause: DiscardCause): readonly number[] {
  if (!decide(calls, number, discarded, cause)) return []
  changed(calls, number)
  return [...callOf(calls, number).children.flatMap((child) => withdrawn(calls, child, cause)), number]
}

/**
 * The run stops. `how`: a resume goes on from there and decides what is not decided yet, though the reader is told that it is discarded;
 * absent: nothing goes on. `keepsResults`: what has a result stays provisional (O8, O9). Gives which calls are discarded.
 */
export function runStopped(calls: Calls, how: CallState['kept'], keepsResults: boolean): readonly number[] {
  for (const call of calls.all.values())
    if (call.fate === 'provisional' && !isInputOpen(calls, call)) decide(calls, call.number, kept, how)
  return restWithdrawn(
    calls,
    'run_aborted',
    ({ course }) => keepsResults && (course === 'result' || course === 'cut off'),
  )
}

/** Nobody asks for any of the provisional calls any more, except for those of which that holds. Gives which are discarded. */
export function restWithdrawn(
  calls: Calls,
  cause: DiscardCause,
  stays: (call: CallState) => boolean,
): readonly number[] {
  const outer = [...calls.all.values()].filter((call) => call.maker === undefined && !stays(call))
  return outer.flatMap(({ number }) => withdrawn(calls, number, cause))
}

/** A call is told to stop. Gives which calls are, innermost first: with it those that it makes. */
export function stoppedAll(calls: Calls, number: number, why: CallState['aborted']): readonly number[] {
  const inner = callOf(calls, number).children.flatMap((child) => stoppedAll(calls, child, why))
  return decide(calls, number, aborted, why) ? [...inner, number] : inner
}

/** Nothing is asked about a call any more. */
export function forgotten(calls: Calls, number: number): void {
  calls.all.delete(number)
  calls.changedIn.delete(number)
  calls.inner.delete(number)
  const place = calls.order.indexOf(number)
  if (place >= 0) calls.order.splice(place, 1)
}
