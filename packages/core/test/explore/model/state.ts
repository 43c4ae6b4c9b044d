/** The state of a run and its calls as plain JSON, the facts that change it, and the effects that are read off it. */

import type { Effect } from '../../../src/index.ts'

import type { ExecutionState, Fate } from '../../../src/machine/call.ts'
import { decide, type Halt, mayStart, reaches, runsOn } from '../../../src/machine/halt.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** A call as a response, or a tool, asks for it. */
export interface Asked {
  readonly id: string
  readonly name: string
  readonly input: string
}

/** What is known of a tool before its input is checked. */
export interface Kind {
  readonly reversible: boolean
  /** Whether its calls may name resource keys. */
  readonly hasKeys: boolean
}

/**
 * asleep: of a checkpoint, and not asked for yet. due: to be begun. begun: its wraps are entered. open: it waits for a resume, with or without a
 * question. settled: it has a result, or was discarded and is over.
 */
export type Course = 'asleep' | 'due' | 'begun' | 'open' | 'settled'

export interface Execution extends ExecutionState {
  /** The version that must be stored before it is entered. */
  version: number
  /** Whether it was told to stop, alone or with its call. */
  aborted: boolean
}

export interface Outcome {
  readonly n: number
  readonly input: string
  readonly text: string
  readonly ok: boolean
}

export interface Result {
  readonly text: string
  readonly ok: boolean
}

export interface Call {
  readonly key: string
  /** The id of the attempt that stands, or of the last that asked for it. */
  id: string
  readonly name: string
  readonly input: string
  readonly kind: Kind
  /** The call whose tool makes it. */
  readonly maker: string | null
  /** What it may do before its model call has stood; `null`: anything. */
  readonly ceiling: Effect | null
  /** Attempts that ask for it. */
  by: number[]
  course: Course
  fate: Fate
  readonly askedAt: number
  /** Somebody has cancelled this call alone. */
  cancelled: boolean
  /** It was told to stop. */
  aborted: boolean
  /** Its function waits until its response stands. */
  waits: boolean
  /** It has been told that its response will not stand in this process. */
  isRefused: boolean
  question: string | null
  answers: string[]
  executions: readonly Execution[]
  readonly attempts: number
  outcomes: Outcome[]
  result: Result | null
  /** Whether its last execution is to be undone if the call is discarded. */
  done: boolean
  undo: 'none' | 'storing' | 'begun' | 'done' | 'unknown'
  undoVersion: number
}

export type Turn =
  | { readonly role: 'assistant'; readonly calls: readonly Asked[] }
  | { readonly role: 'tool'; readonly id: string; readonly text: string }

export type Ending =
  | { readonly is: 'completed' | 'aborted' | 'failed' }
  | { readonly is: 'interrupted' | 'cancelled'; readonly checkpoint: State }

export interface State {
  phase: 'model' | 'after-model' | 'calls' | 'over'
  step: number
  /** Slots of the run. */
  readonly limit: number
  /** Until a save fails. */
  hasStore: boolean
  /** Attempts of the step; those that have neither failed nor been left. */
  attempts: number
  live: number[]
  model: 'due' | 'at work' | 'stopping' | 'out'
  hook: 'none' | 'due' | 'at work' | 'asks'
  hookAnswers: string[]
  /** Keys of the calls that the response asks for, in its order. */
  wanted: string[]
  calls: Call[]
  /** How many calls were made, so that no key is given twice. */
  made: number
  history: Turn[]
  isAnswered: boolean
  halt: Halt
  /** The state as it was when `cancel now` was decided: the checkpoint of the run, unless an abort wins. */
  aside: State | null
  /** Ids of calls and undos that may have happened in a process that was killed. */
  unknown: string[]
  /** Counts the changes; the newest version that is stored, and the one that is being stored. */
  version: number
  stored: number
  saving: number | null
  ending: Ending | null
}

export type Fact =
  | { readonly is: 'attempt' }
  | { readonly is: 'attempt failed'; readonly attempt: number }
  | {
      readonly is: 'asked early'
      readonly attempt: number
      readonly call: Asked
      readonly kind: Kind
      readonly ceiling: Effect
    }
  | { readonly is: 'made'; readonly maker: string; readonly call: Asked; readonly kind: Kind }
  | { readonly is: 'stood'; readonly calls: readonly Asked[]; readonly kinds: readonly Kind[] }
  | { readonly is: 'model threw' }
  | { readonly is: 'hook done' }
  | { readonly is: 'hook asks' }
  | { readonly is: 'wanted'; readonly key: string; readonly n: number; readonly input: string }
  | {
      readonly is: 'judged'
      readonly key: string
      readonly n: number
      readonly effect: Effect
      readonly writes: readonly string[]
    }
  | { readonly is: 'ended'; readonly key: string; readonly n: number; readonly text: string; readonly ok: boolean }
  | { readonly is: 'left'; readonly key: string; readonly n: number }
  | { readonly is: 'waits'; readonly key: string }
  | { readonly is: 'asks'; readonly key: string; readonly n: number | null; readonly question: string | null }
  | { readonly is: 'settled'; readonly key: string; readonly text: string; readonly ok: boolean }
  | { readonly is: 'grace over'; readonly key: string }
  | { readonly is: 'undone'; readonly key: string }
  | { readonly is: 'saved' }
  | { readonly is: 'save failed' }
  | { readonly is: 'cancel call'; readonly key: string }
  | { readonly is: 'cancel'; readonly at: 'after-tools' | 'after-model' | 'now' }
  | { readonly is: 'abort' }

export type Due =
  | { readonly do: 'ask model' | 'stop model' | 'hook' | 'save' }
  | { readonly do: 'begin' | 'abort' | 'undo'; readonly key: string }
  | { readonly do: 'check' | 'enter' | 'stop'; readonly key: string; readonly n: number }
  | { readonly do: 'release'; readonly key: string; readonly stood: boolean }
  | { readonly do: 'end'; readonly ending: Ending }

/** Nothing stops it. */
export const AT_WORK: Halt = { phase: 'at work' }

export function begin(limit: number, hasStore: boolean): State {
  return {
    phase: 'model',
    step: 1,
    limit,
    hasStore,
    attempts: 0,
    live: [],
    model: 'due',
    hook: 'none',
    hookAnswers: [],
    wanted: [],
    calls: [],
    made: 0,
    history: [],
    isAnswered: false,
    halt: AT_WORK,
    aside: null,
    unknown: [],
    version: 0,
    stored: 0,
    saving: null,
    ending: null,
  }
}

export function callOf(s: State, key: string): Call {
  const call = s.calls.find((one) => one.key === key)
  if (!call) throw new Error(`there is no call ${key}`)
  return call
}

/** What is at work is told to stop, and nothing starts. */
export function isStopping(s: State): boolean {
  return !runsOn(s.halt)
}

/** Nothing new starts. */
export function isHalted(s: State): boolean {
  return !mayStart(s.halt) || asks(s)
}

/** The run goes no further. */
export function isPaused(s: State): boolean {
  return s.halt.stop !== undefined || asks(s)
}

/** That a committed call asks is no event but a state: it lasts as long as the question. */
function asks(s: State): boolean {
  return s.hook === 'asks' || s.calls.some((call) => call.course === 'open' && isForGood(s, call))
}

/** A safe point of this kind: the run pauses if it is cancelled so. */
export function stopAt(s: State, point: 'after-tools' | 'after-model'): void {
  if (reaches(s.halt, point)) s.halt = decide(s.halt, { is: 'pause' })
}

/** Its fate is decided, and so is that of all calls above it: they are committed. */
function isForGood(s: State, call: Call): boolean {
  return call.fate === 'committed' && (call.maker === null || callOf(s, call.maker).course === 'open')
}
