/** What can happen to the calls of a run. Each function takes a fact and updates the state of every call that the fact concerns. */

import type { DiscardCause } from '../vocabulary/events.ts'
import { type CallState, hasSettled, hasSlot } from './call.ts'
import { type Calls, callOf, isInputOpen, needsSlot } from './calls.ts'
import { aborted, alsoRequestedBy, committed, discarded, hidden, kept, told, undoing } from './decide-call.ts'

/** Stores a state that decide-call.ts has made, and notes what that changes for others. Returns whether it differs from the stored one. */
export function decideCall(calls: Calls, after: CallState): boolean {
  const { number } = after
  const before = callOf(calls, number)
  if (after === before) return false
  calls.all.set(number, after)
  const hasMoved = after.executions !== before.executions || after.course !== before.course
  if (hasMoved) {
    calls.slotsTaken += slotsOf(after) - slotsOf(before)
    countInner(calls, after, Number(hasInnerSlot(after)) - Number(hasInnerSlot(before)))
  }
  if (hasMoved || after.fate !== before.fate) callChanged(calls, number)
  return true
}

/** How many slots of its run a call holds. */
export function slotsOf(call: CallState): number {
  return needsSlot(call) && !hasSettled(call) ? call.executions.filter(hasSlot).length : 0
}

/** Whether an inner call holds one of the slots of its maker. */
function hasInnerSlot({ maker, course, executions }: CallState): boolean {
  return maker !== undefined && course === 'begun' && executions.some(hasSlot)
}

function countInner({ innerSlotsTaken }: Calls, { maker }: CallState, by: number): void {
  if (maker === undefined || by === 0) return
  const holding = (innerSlotsTaken.get(maker) ?? 0) + by
  if (holding > 0) innerSlotsTaken.set(maker, holding)
  else innerSlotsTaken.delete(maker)
}

/** What a call blocks has changed: the executions that wait for it must be examined again. Its own state is noted by {@link decideCall}. */
export function callChanged(calls: Calls, number: number): void {
  if (calls.waiting.size > 0) calls.changedIn.set(number, ++calls.version)
}

/** How many slots the run has, and how many of them the inner calls of one maker may hold at the same time. */
export function callsLimited(calls: Calls, limit: number, innerLimit: number): void {
  calls.limit = limit
  calls.innerLimit = innerLimit
}

/** A model call begins, and has announced no call yet. */
export function modelCalled({ response }: Calls): void {
  response.isOpen = true
  response.attempts.clear()
  response.announcedBy.clear()
  response.unoffered.clear()
}

/** An attempt announces a call. Only the first announcement of an id counts. Returns whether this is the first. */
export function idAnnounced({ response }: Calls, id: string, attempt: number): boolean {
  if (response.announcedBy.has(id)) return false
  response.announcedBy.set(id, attempt)
  if (!response.attempts.has(attempt)) response.attempts.set(attempt, {})
  return true
}

/** The stream of an attempt ended at this time. `hasFailed`: it broke off, so the calls that it requests no longer start. */
export function attemptEnded(calls: Calls, attempt: number, ended: number, hasFailed: boolean): void {
  calls.response.attempts.set(attempt, { ended, hasFailed })
  if (hasFailed)
    for (const { number, requestedBy } of calls.all.values())
      if (requestedBy.includes(attempt)) callChanged(calls, number)
}

/** The model call succeeded or failed: no call starts early any more. */
export function responseEnded({ response }: Calls): void {
  response.isOpen = false
}

/** A call is made. It comes last in call order, if it has a place there. Returns its number. */
export function callMade(calls: Calls, call: Omit<CallState, 'number' | 'children'>): number {
  const number = ++calls.made
  calls.all.set(number, { ...call, number, children: [] })
  if (needsSlot(call)) calls.order.push(number)
  if (call.maker !== undefined) calls.inner.add(number)
  // A maker may still be running after the run has forgotten it.
  const maker = calls.all.get(call.maker ?? 0)
  if (maker) decideCall(calls, { ...maker, children: [...maker.children, number] })
  callChanged(calls, number)
  return number
}

/** A call begins. Its events wait, unless the reader has seen that the response requests it (`isAnnounced`), or if those of its maker wait. */
export function callHidden(calls: Calls, number: number, isAnnounced: boolean): void {
  const { maker } = callOf(calls, number)
  if (maker === undefined ? !isAnnounced : calls.all.get(maker)?.told === 'hidden')
    decideCall(calls, hidden(callOf(calls, number)))
}

/** The reader sees a call and its inner calls. Returns the calls whose events have waited for that, makers first. */
export function callShown(calls: Calls, number: number): readonly number[] {
  const own = decideCall(calls, told(callOf(calls, number), 'open')) ? [number] : []
  const inner = callOf(calls, number).children.filter((child) => callOf(calls, child).fate !== 'discarded')
  return [...own, ...inner.flatMap((child) => callShown(calls, child))]
}

/** A further attempt requests a call, which moves to the end of call order. */
export function callJoined(calls: Calls, number: number, attempt: number): void {
  decideCall(calls, alsoRequestedBy(callOf(calls, number), attempt))
  movedToEnd(calls, number)
}

/** A call moves to the end of call order, if it still has a place there. */
export function movedToEnd(calls: Calls, number: number): void {
  if (calls.order.includes(number)) putAtEnd(calls, number)
}

/** A call moves to the end of call order, even if it had no place there any more. */
export function putAtEnd(calls: Calls, number: number): void {
  const place = calls.order.indexOf(number)
  if (place >= 0) calls.order.splice(place, 1)
  calls.order.push(number)
  callChanged(calls, number)
}

/** The tool of a call asks for another call, which it did not make, by its id. */
export function callAsked(calls: Calls, number: number, other: number): void {
  const asked = calls.asked.get(number) ?? []
  if (number === other || asked.includes(other)) return
  calls.asked.set(number, [...asked, other])
  callChanged(calls, other)
}

/** A call has settled and no longer blocks other calls. A call that stays open for a resume keeps its place in call order. */
export function callClosed(calls: Calls, number: number): void {
  const { course } = callOf(calls, number)
  const place = calls.order.indexOf(number)
  if (course !== 'open' && place >= 0) calls.order.splice(place, 1)
  calls.inner.delete(number)
  calls.asked.delete(number)
  callChanged(calls, number)
  // All waiting executions are examined again, whatever blocks them, because an open call stops those behind it.
  if (course === 'open') for (const { call } of calls.waiting) callChanged(calls, call)
}

/** The model call succeeded and requests a call. This commits the call and its inner calls. Returns the calls that became committed. */
export function callCommitted(
  calls: Calls,
  number: number,
  at: number,
  modelEnded: number | undefined,
): readonly number[] {
  movedToEnd(calls, number)
  if (!decideCall(calls, committed(callOf(calls, number), at, modelEnded))) return []
  const inner = callOf(calls, number).children.flatMap((child) => callCommitted(calls, child, at, modelEnded))
  return [number, ...inner]
}

/** Nothing requests a call any more: discards it and its inner calls. Returns those that became discarded, innermost first. */
export function callDiscarded(calls: Calls, number: number, cause: DiscardCause): readonly number[] {
  if (!decideCall(calls, discarded(callOf(calls, number), cause))) return []
  return [...callOf(calls, number).children.flatMap((child) => callDiscarded(calls, child, cause)), number]
}

/**
 * The run stops. `how`: a resume decides the fate of the calls that are provisional now, although the reader of this run sees them as
 * discarded; absent: no resume does. `keepsResults`: a call that has a message stays provisional. `isUndone`: nothing continues the run, so
 * it undoes what is discarded. Returns the calls that became discarded.
 */
export function runStopped(
  calls: Calls,
  how: CallState['kept'],
  keepsResults: boolean,
  isUndone: boolean,
): readonly number[] {
  for (const call of calls.all.values())
    if (call.fate === 'provisional' && !isInputOpen(calls, call))
      decideCall(calls, kept(callOf(calls, call.number), how))
  const stays = ({ course }: CallState) => keepsResults && (course === 'result' || course === 'cut off')
  const discarded = restDiscarded(calls, 'run_aborted', stays)
  if (isUndone) return discarded
  for (const number of discarded) {
    const call = callOf(calls, number)
    // A checkpoint contains neither a call with incomplete input nor its effects, so a resume cannot undo it.
    if (!isInputOpen(calls, call)) decideCall(calls, undoing(call, 'theirs'))
  }
  return discarded
}

/** Discards all provisional calls and their inner calls, except those for which `stays` holds. Returns the calls that became discarded. */
export function restDiscarded(
  calls: Calls,
  cause: DiscardCause,
  stays: (call: CallState) => boolean,
): readonly number[] {
  const outer = [...calls.all.values()].filter((call) => call.maker === undefined && !stays(call))
  return outer.flatMap(({ number }) => callDiscarded(calls, number, cause))
}

/** Stops a call and its inner calls. Returns those that were running and not stopped before, innermost first. */
export function callStopped(calls: Calls, number: number, why: CallState['aborted']): readonly number[] {
  const inner = callOf(calls, number).children.flatMap((child) => callStopped(calls, child, why))
  return decideCall(calls, aborted(callOf(calls, number), why)) ? [...inner, number] : inner
}

/** The run forgets a call. */
export function callForgotten(calls: Calls, number: number): void {
  const call = calls.all.get(number)
  if (call) calls.slotsTaken -= slotsOf(call)
  if (call && hasInnerSlot(call)) countInner(calls, call, -1)
  calls.all.delete(number)
  calls.changedIn.delete(number)
  calls.inner.delete(number)
  const place = calls.order.indexOf(number)
  if (place >= 0) calls.order.splice(place, 1)
}
