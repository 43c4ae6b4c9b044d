/** All calls of a run as plain data. What is to be done about them is read off this state, and decide.ts is told what happens to them. */

import { type CallState, isAside as isAsideNow, isOver, keysOf, usesKeys } from './call.ts'
import type { Invocation } from './invocation.ts'
import { NO_KEYS, type ResourceKeys } from './resource-keys.ts'
import type { Sight } from './schedule.ts'

/** An attempt of the model call at work; or, as number 0, a wrap that answers itself. */
export interface Attempt {
  /** When its stream ended, in `performance.now()`; absent while it goes on. */
  readonly ended?: number
  /** It failed, or a wrap left it: no call of it starts any more. */
  readonly isOver?: boolean
}

/** The response at work. */
export interface ResponseState {
  /** Its model call has neither stood nor failed: its calls may be made early, and may be discarded. */
  isOpen: boolean
  readonly attempts: Map<number, Attempt>
  /** By call id: the attempt that asks for the call. */
  readonly askedBy: Map<string, number>
}

/** An execution that waits for its turn. */
export interface Waiting {
  readonly call: number
  readonly invocation: Invocation
  /** As long as nothing of this call changes, it waits. */
  heldBack: number | undefined
  /** It waits for nothing but a slot of its tool. */
  awaitsSeat: boolean
  /** The version in which it was looked at last. */
  seenIn: number
}

export interface Calls {
  /** By number, in the order in which they were made. */
  readonly all: Map<number, CallState>
  made: number
  readonly response: ResponseState
  /** In call order: the calls that may hold others back. What a call makes works in its maker's place. */
  readonly order: number[]
  /** The calls that others make, until they are over; and how many of one maker execute at once, at the most. */
  readonly inner: Set<number>
  innerLimit: number
  /** In order of arrival. */
  readonly waiting: Set<Waiting>
  /** Slots of the run, and how many executions have one. */
  limit: number
  holding: number
  /** Counts the changes that those who wait are to look at, and says in which each call has changed. */
  version: number
  readonly changedIn: Map<number, number>
}

export function noCalls(): Calls {
  return {
    all: new Map(),
    made: 0,
    response: { isOpen: false, attempts: new Map(), askedBy: new Map() },
    order: [],
    inner: new Set(),
    innerLimit: Number.POSITIVE_INFINITY,
    waiting: new Set(),
    limit: Number.POSITIVE_INFINITY,
    holding: 0,
    version: 0,
    changedIn: new Map(),
  }
}

export function callOf({ all }: Calls, number: number): CallState {
  const call = all.get(number)
  if (!call) throw new RangeError(`there is no call ${number}`)
  return call
}

/** Whether a call makes another one, directly or not. */
export function isMakerOf(calls: Calls, number: number, other: number): boolean {
  const maker = calls.all.get(other)?.maker
  return maker !== undefined && (maker === number || isMakerOf(calls, number, maker))
}

/** Whether a call stands in call order, and needs slots of its run: what a call makes works in the place of its maker. */
export function needsSlot({ maker, isWork }: Pick<CallState, 'maker' | 'isWork'>): boolean {
  return maker === undefined && !isWork
}

/** Whether calls of this attempt may start. */
export function mayStartFor({ response }: Calls, attempt: number): boolean {
  return response.isOpen && !response.attempts.get(attempt)?.isOver
}

/** Whether only attempts that have failed ask for a call: it waits for an equal call of another one (G11, H22). */
export function isHeld({ response }: Calls, { by, fate }: CallState): boolean {
  return fate === 'provisional' && by.length > 0 && by.every((one) => response.attempts.get(one)?.isOver)
}

/** The provisional calls that began for this attempt. */
export function earlyFor({ all }: Calls, attempt: number): CallState[] {
  return [...all.values()].filter(({ by, startedEarly }) => startedEarly && by[0] === attempt)
}

/** Whether a question is one that a call asks, or one that it makes. */
export function isAskedBy(calls: Calls, { asking, questions, children }: CallState, question: number): boolean {
  if (asking?.question === question || questions.includes(question)) return true
  return children.some((child) => isAskedBy(calls, callOf(calls, child), question))
}

/** Whether a call waits for a resume, and with it whoever made it: a question that somebody has caught waits for nothing. */
export function waitsForResume(calls: Calls, { course, fate, maker }: CallState): boolean {
  if (course !== 'open' || fate !== 'committed') return false
  if (maker === undefined) return true
  const above = calls.all.get(maker)
  return above !== undefined && waitsForResume(calls, above)
}

/** Its input is not known yet, or that of a call which makes it. A checkpoint has no such call. */
export function isInputOpen(calls: Calls, { asked, content, maker }: CallState): boolean {
  if (asked && content === undefined) return true
  const above = maker === undefined ? undefined : calls.all.get(maker)
  return above !== undefined && isInputOpen(calls, above)
}

/** Nothing more comes of it, nor of the calls it made. */
export function isPast(calls: Calls, call: CallState): boolean {
  return isOver(call) && call.children.every((child) => isPast(calls, callOf(calls, child)))
}

/** What a call touches; not known until its input is checked, if its tool names keys. */
export function keysIn(call: CallState): ResourceKeys | undefined {
  return call.tool?.namesKeys ? keysOf(call, call.fate) : NO_KEYS
}

/** The calls as the schedule sees them. */
export class CallSight implements Sight<number> {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  keys(number: number): ResourceKeys | undefined {
    return keysIn(callOf(this.#calls, number))
  }

  isExecuting(number: number): boolean {
    const { course, executions } = callOf(this.#calls, number)
    return course === 'begun' && executions.some(usesKeys)
  }

  isAside(number: number): boolean {
    const call = callOf(this.#calls, number)
    return isAsideNow(call, isHeld(this.#calls, call))
  }

  isProvisional(number: number): boolean {
    return callOf(this.#calls, number).fate === 'provisional'
  }

  isStopped(number: number): boolean {
    return callOf(this.#calls, number).course === 'open'
  }

  isMakerOf(number: number, other: number): boolean {
    return isMakerOf(this.#calls, number, other)
  }
}
