/**
 * The state of all calls of a run as plain data, and what can be read off it. Read this file first, then call.ts.
 *
 * Four things of a call change independently of each other: its *course* (how far it has come), its *fate* (whether the response that stands
 * requests it), its *executions* (a wrap may want several), and what the reader was *told*. decide-calls.ts and decide-call.ts change them,
 * with one function for each thing that may happen; due.ts decides when an execution that waits may go on. The other files about calls only read.
 * steps.ts and halt.ts have states of their own.
 */

import { NO_KEYS, type ResourceKeys, unionOf } from '../vocabulary/resource-keys.ts'
import type { Invocation } from '../vocabulary/saved-run.ts'
import { type CallState, type Fate, type HasExecutions, isFinal, isUndoAhead } from './call.ts'

/** An attempt of the current model call. Number 0 is a wrap that answers itself. */
export interface Attempt {
  /** When its stream ended, in `performance.now()`; absent while it goes on. */
  readonly ended?: number
  /** It failed, or a wrap left it: no call that it requests starts any more. */
  readonly hasFailed?: boolean
}

/** The response of the current model call. */
export interface ResponseState {
  /** Its model call has neither stood nor failed yet. Until then its calls may start early, and may be discarded. */
  isOpen: boolean
  readonly attempts: Map<number, Attempt>
  /** By call id: the attempt that announced this id first. */
  readonly announcedBy: Map<string, number>
}

/** An execution that waits for its turn. */
export interface WaitingExecution {
  readonly call: number
  readonly invocation: Invocation
  /** The call that holds it back. It waits at least until something of that call changes. */
  blockedBy: number | undefined
  /** It waits only for a slot of its tool. */
  awaitsToolSlot: boolean
  /** The {@link Calls.version} at which it was looked at last. */
  lookedAtIn: number
}

export interface Calls {
  /** By number, in the order in which they were made. */
  readonly all: Map<number, CallState>
  /** How many calls were made. The newest has this number. */
  made: number
  readonly response: ResponseState
  /**
   * The calls that may hold others back, in call order: as the response that stands requests them; before it stands, as they were made
   * or joined. A call that another one makes is not here: it works in the place of its maker.
   */
  readonly order: number[]
  /** The calls that others make, until they have settled. */
  readonly inner: Set<number>
  /** How many calls of one maker have a slot at once, at most. */
  innerLimit: number
  /** By maker: how many of the calls that it makes have one. */
  readonly innerSlotsTaken: Map<number, number>
  /** The executions that wait for their turn, in order of arrival. */
  readonly waiting: Set<WaitingExecution>
  /** How many slots the run has. */
  limit: number
  /** How many of them executions hold. */
  slotsTaken: number
  /** How many changes there were that executions which wait must look at. */
  version: number
  /** By call: the version of its newest change. */
  readonly changedIn: Map<number, number>
}

export function noCalls(): Calls {
  return {
    all: new Map(),
    made: 0,
    response: { isOpen: false, attempts: new Map(), announcedBy: new Map() },
    order: [],
    inner: new Set(),
    innerLimit: Number.POSITIVE_INFINITY,
    innerSlotsTaken: new Map(),
    waiting: new Set(),
    limit: Number.POSITIVE_INFINITY,
    slotsTaken: 0,
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

/** Whether a call has a place in call order, and needs slots of its run. An inner call works in the place of its maker. */
export function needsSlot({ maker, work }: Pick<CallState, 'maker' | 'work'>): boolean {
  return maker === undefined && !work
}

/** Whether calls that this attempt requests may start early. */
export function mayStartFor({ response }: Calls, attempt: number): boolean {
  return response.isOpen && !response.attempts.get(attempt)?.hasFailed
}

/** Whether only failed attempts request a call: it waits for a later attempt that requests the same. */
export function awaitsNextAttempt({ response }: Calls, { requestedBy, fate }: CallState): boolean {
  return (
    fate === 'provisional' &&
    requestedBy.length > 0 &&
    requestedBy.every((one) => response.attempts.get(one)?.hasFailed)
  )
}

/** The calls that were made early for this attempt of a step, whatever has become of them. */
export function earlyFor({ all }: Calls, step: number, attempt: number): CallState[] {
  return [...all.values()].filter((call) => call.startedEarly && call.step === step && call.requestedBy[0] === attempt)
}

/** Whether a call asks this question, or a call that it makes does. */
export function hasQuestion(calls: Calls, { ownQuestion, questions, children }: CallState, question: number): boolean {
  if (ownQuestion?.question === question || questions.includes(question)) return true
  return children.some((child) => hasQuestion(calls, callOf(calls, child), question))
}

/** Whether a call stays open for a resume, and all its makers do. If a maker has caught its question, it waits for nothing. */
export function waitsForResume(calls: Calls, { course, fate, maker }: CallState): boolean {
  if (course !== 'open' || fate !== 'committed') return false
  if (maker === undefined) return true
  const above = calls.all.get(maker)
  return above !== undefined && waitsForResume(calls, above)
}

/** Whether the input of a call is not whole yet, or that of a call which makes it. A checkpoint does not hold such a call. */
export function isInputOpen(calls: Calls, { isRequested, content, maker }: CallState): boolean {
  if (isRequested && content === undefined) return true
  const above = maker === undefined ? undefined : calls.all.get(maker)
  return above !== undefined && isInputOpen(calls, above)
}

/** Nothing more comes of a call, nor of the calls it made: nothing is at work, and nothing is to be undone. */
export function isPast(calls: Calls, call: CallState): boolean {
  return isFinal(call) && !isUndoAhead(call) && call.children.every((child) => isPast(calls, callOf(calls, child)))
}

/** The keys that a call touches. If its tool may name keys: `undefined` until its input is checked. */
export function keysIn(call: CallState): ResourceKeys | undefined {
  return call.tool?.namesKeys ? keysOf(call, call.fate) : NO_KEYS
}

/** The keys of all its executions; `undefined` until one is judged. A discarded call has no reads: nobody sees what it has read. */
export function keysOf({ executions }: HasExecutions, fate: Fate): ResourceKeys | undefined {
  let keys: ResourceKeys | undefined
  for (const { judgement } of executions) if (judgement) keys = keys ? unionOf(keys, judgement.keys) : judgement.keys
  return keys && fate === 'discarded' ? { ...keys, reads: NO_KEYS.reads } : keys
}
