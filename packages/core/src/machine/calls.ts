/**
 * The state of all calls of a run as plain data, and functions that read it. Read this file first, then call.ts.
 *
 * Four things about a call change independently of each other: its *course* (how far it has come), its *fate* (whether the accepted
 * response requests it), its *executions* (a wrap may ask for several), and what the reader has seen (*told*). decide-calls.ts and
 * decide-call.ts change them, with one function for each thing that can happen; due.ts decides when a waiting execution may go on. The
 * other files about calls only read. steps.ts and halt.ts have separate states.
 */

import type { RunStop } from '../vocabulary/errors.ts'
import { NO_KEYS, type ResourceKeys, unionOf } from '../vocabulary/resource-keys.ts'
import type { Invocation } from '../vocabulary/saved-run.ts'
import { type CallState, type Fate, isFinal, isUndoAhead } from './call.ts'

/** An attempt of the current model call. Number 0 stands for a wrap that answers itself. */
export interface Attempt {
  /** When its stream ended, in `performance.now()`. Absent while it is streaming. */
  readonly ended?: number
  /** It failed, or a wrap left it: the calls that it requests no longer start. */
  readonly hasFailed?: boolean
}

/** The response of the current model call. */
export interface ResponseState {
  /** Whether the model call is neither accepted nor failed yet. Until then its calls may start early and may be discarded. */
  isOpen: boolean
  readonly attempts: Map<number, Attempt>
  /** The attempt that announced an id first, by call id. */
  readonly announcedBy: Map<string, number>
  /** The tools that the model has called although its request did not offer them, by call id. */
  readonly unoffered: Map<string, string>
}

/** An execution that waits for its turn. */
export interface WaitingExecution {
  readonly call: number
  readonly invocation: Invocation
  /** The call that blocks it. The execution waits at least until that call changes. */
  blockedBy: number | undefined
  /** Whether it waits only for a slot of its tool. */
  awaitsToolSlot: boolean
  /** The {@link Calls.version} at which it was last examined. */
  lookedAtIn: number
}

export interface Calls {
  /** By number, in the order in which they were made. */
  readonly all: Map<number, CallState>
  /** How many calls were made. The newest has this number. */
  made: number
  readonly response: ResponseState
  /**
   * The calls that may block others, in call order: as the accepted response requests them; before that, in the order in which they were
   * made or joined. An inner call (one that another call makes) is not here: it uses the place of its maker.
   */
  readonly order: number[]
  /** The inner calls that have not settled. */
  readonly inner: Set<number>
  /** The calls of the response that a tool asks for by id, by the number of the asking call. The tool waits for them. */
  readonly asked: Map<number, number[]>
  /** How many inner calls of one maker may have a slot at the same time. */
  innerLimit: number
  /** How many inner calls have a slot, by maker. */
  readonly innerSlotsTaken: Map<number, number>
  /** The executions that wait for their turn, in order of arrival. */
  readonly waiting: Set<WaitingExecution>
  /** How many slots the run has. */
  limit: number
  /** How many of the slots are taken. */
  slotsTaken: number
  /** Counts the changes that waiting executions must examine. */
  version: number
  /** The version of the newest change, by call. */
  readonly changedIn: Map<number, number>
}

export function noCalls(): Calls {
  return {
    all: new Map(),
    made: 0,
    response: { isOpen: false, attempts: new Map(), announcedBy: new Map(), unoffered: new Map() },
    order: [],
    inner: new Set(),
    asked: new Map(),
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

/** Whether a call makes another one, directly or through its inner calls. */
export function isMakerOf(calls: Calls, number: number, other: number): boolean {
  const maker = calls.all.get(other)?.maker
  return maker !== undefined && (maker === number || isMakerOf(calls, number, maker))
}

/** A call whose tool asks for this one by its id, and which has not settled. */
export function askerOf({ asked }: Calls, number: number): number | undefined {
  for (const [asker, calls] of asked) if (calls.includes(number)) return asker
  return undefined
}

/** Whether a call has a place in call order and needs slots of its run. An inner call uses the place of its maker. */
export function needsSlot({ maker, work }: Pick<CallState, 'maker' | 'work'>): boolean {
  return maker === undefined && !work
}

/** Whether calls that this attempt requests may start early. */
export function mayStartFor({ response }: Calls, attempt: number): boolean {
  return response.isOpen && !response.attempts.get(attempt)?.hasFailed
}

/** The calls that were made early for this attempt of a step, whatever happened to them since. */
export function earlyFor({ all }: Calls, step: number, attempt: number): CallState[] {
  return [...all.values()].filter((call) => call.startedEarly && call.step === step && call.requestedBy[0] === attempt)
}

/** Whether a call, or an inner call of it, asks this question. */
export function hasQuestion(calls: Calls, { ownQuestion, questions, children }: CallState, stop: RunStop): boolean {
  if (ownQuestion?.interrupt === stop || questions.includes(stop)) return true
  return children.some((child) => hasQuestion(calls, callOf(calls, child), stop))
}

/** Whether a call and all its makers stay open for a resume. If a maker has caught the question of the call, the call waits for nothing. */
export function waitsForResume(calls: Calls, { course, fate, maker }: CallState): boolean {
  if (course !== 'open' || fate !== 'committed') return false
  if (maker === undefined) return true
  const above = calls.all.get(maker)
  return above !== undefined && waitsForResume(calls, above)
}

/** Whether the input of a call, or of one of its makers, is not complete yet. A checkpoint does not contain such a call. */
export function isInputOpen(calls: Calls, { isRequested, content, maker }: CallState): boolean {
  if (isRequested && content === undefined) return true
  const above = maker === undefined ? undefined : calls.all.get(maker)
  return above !== undefined && isInputOpen(calls, above)
}

/** Whether a call and its inner calls can no longer change: nothing is running, and nothing remains to be undone. */
export function isPast(calls: Calls, call: CallState): boolean {
  return isFinal(call) && !isUndoAhead(call) && call.children.every((child) => isPast(calls, callOf(calls, child)))
}

/** The keys that a call touches. If its tool may name keys, `undefined` until its input is checked. */
export function keysIn(call: CallState): ResourceKeys | undefined {
  return call.tool?.namesKeys ? keysOf(call, call.fate) : NO_KEYS
}

/** The keys of all executions of a call; `undefined` until one is judged. Reads of a discarded call do not count: nothing uses them. */
export function keysOf({ executions }: CallState, fate: Fate): ResourceKeys | undefined {
  let keys: ResourceKeys | undefined
  for (const { judgement } of executions) if (judgement) keys = keys ? unionOf(keys, judgement.keys) : judgement.keys
  return keys && fate === 'discarded' ? { ...keys, reads: NO_KEYS.reads } : keys
}
