/**
 * The work behind background calls: what the model has read of it, whether an answer waits for it, and what goes on beyond its run. Each
 * work is a call of its own in the table of calls. What is decided here, background/ does.
 */

import type { CallState, WorkState } from './call.ts'
import { type Calls, callOf } from './calls.ts'
import { decideCall } from './decide-calls.ts'
import type { Halt } from './halt.ts'

/** A call that is the work behind another one. */
export type Work = CallState & { readonly work: WorkState }

/** Those for which this holds, in the order in which they began. */
function worksOf({ all }: Calls, holds: (work: Work) => boolean): Work[] {
  const works: Work[] = []
  for (const call of all.values()) if (isWork(call) && holds(call)) works.push(call)
  return works
}

function isWork(call: CallState): call is Work {
  return call.work !== undefined
}

/** Work that was begun, and has no result. */
export function openWorks(calls: Calls): Work[] {
  return worksOf(calls, ({ course }) => course !== 'result' && course !== 'asleep')
}

/** Those that the run stops when it ends, and waits for then. */
export function ownWorks(calls: Calls): Work[] {
  return openWorks(calls).filter(({ work }) => !work.isHandedOver)
}

/** Those with a result that the model has not read. */
export function unreadWorks(calls: Calls): Work[] {
  return worksOf(calls, isUnread)
}

function isUnread({ course, work }: Work): boolean {
  return course === 'result' && !work.isRead
}

/** The model reads the result. */
export function resultRead(calls: Calls, number: number): void {
  change(calls, number, { isRead: true })
}

/** Work that stays open for a resume: the agent that it runs asks, or has stopped. Its run stops at the next safe point. */
export function stoppedWork(calls: Calls): Work | undefined {
  return openWorks(calls).find(hasStopped)
}

function hasStopped({ course }: Work): boolean {
  return course === 'open'
}

/**
 * What an answer that is offered comes to before anybody judges it. `wait`: for work at work. `stop`: the run stops. The work `by` stays
 * open for a resume; without `by`, the run was told to stop while the answer waited. `judge`: there is nothing to wait for.
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
 * The run has its answer. Open work that its tool detaches goes on beyond the run. Returns the work that is the caller's from now on: this
 * work, and that whose result the model has not read.
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
