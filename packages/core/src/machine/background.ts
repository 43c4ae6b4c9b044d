/**
 * Decides about work in the background: whether the model has read its result, whether an answer waits for it, and whether it goes on after
 * its run. Each piece of work is a separate call in the table of calls. The code in background/ carries out what is decided here.
 */

import type { CallState, WorkState } from './call.ts'
import { type Calls, callOf } from './calls.ts'
import { decideCall } from './decide-calls.ts'
import type { Halt } from './halt.ts'

/** The call that does the work of a background call. */
export type Work = CallState & { readonly work: WorkState }

/** The work that `holds` accepts, in the order in which it began. */
function worksOf({ all }: Calls, holds: (work: Work) => boolean): Work[] {
  return [...all.values()].filter((call): call is Work => call.work !== undefined).filter(holds)
}

/** Work that has begun and has no result. */
export function openWorks(calls: Calls): Work[] {
  return worksOf(calls, ({ course }) => course !== 'result' && course !== 'asleep')
}

/** The open work that the run stops and waits for when it ends. */
export function ownWorks(calls: Calls): Work[] {
  return openWorks(calls).filter(({ work }) => !work.isHandedOver)
}

/** Work with a result that the model has not read. */
export function unreadWorks(calls: Calls): Work[] {
  return worksOf(calls, isUnread)
}

function isUnread({ course, work }: Work): boolean {
  return course === 'result' && !work.isRead
}

/** Marks the result of a call as read by the model. */
export function resultRead(calls: Calls, number: number): void {
  change(calls, number, { isRead: true })
}

/** Work that stays open for a resume, because its agent asked a question or stopped. The run then stops at its next safe point. */
export function stoppedWork(calls: Calls): Work | undefined {
  return openWorks(calls).find(hasStopped)
}

function hasStopped({ course }: Work): boolean {
  return course === 'open'
}

/**
 * What happens to an offered answer before anything judges it. `wait`: it waits for work that is running. `stop`: the run stops, either
 * because the work `by` stays open for a resume or, without `by`, because the run was stopped while the answer waited. `judge`: nothing to
 * wait for.
 */
export type WorkBeforeAnswer =
  | { readonly is: 'wait'; readonly for: readonly Work[] }
  | { readonly is: 'stop'; readonly by: Work | undefined }
  | { readonly is: 'judge' }

export function workBeforeAnswer(calls: Calls, { stop, mode }: Halt): WorkBeforeAnswer {
  const open = openWorks(calls).filter(({ work }) => work.atEnd !== 'cancel')
  const awaited = open.filter(({ work }) => work.atEnd === 'wait')
  if (awaited.length > 0 && !stop && !mode && !awaited.some(hasStopped)) return { is: 'wait', for: awaited }
  const by = open.find(hasStopped)
  return by || awaited.length > 0 ? { is: 'stop', by } : { is: 'judge' }
}

/**
 * Hands work over to the caller when the run has its answer. Open work whose tool has `atEnd: 'detach'` goes on after the run. Returns that
 * work, and the work with a result that the model has not read.
 */
export function worksHandedOver(calls: Calls): Work[] {
  for (const { number, work } of openWorks(calls))
    if (work.atEnd === 'detach') change(calls, number, { isHandedOver: true })
  return worksOf(calls, (call) => call.work.isHandedOver === true || isUnread(call))
}

function change(calls: Calls, number: number, to: Partial<WorkState>): void {
  const call = callOf(calls, number)
  if (call.work) decideCall(calls, { ...call, work: { ...call.work, ...to } })
}
