/**
 * A call and its executions as plain JSON: what is decided about them, and what follows from that. Values of users, such as inputs,
 * outputs and errors, are with the call's handle. Only decide-call.ts makes a new state.
 */

import type { DiscardCause } from '../events.ts'
import { type Effect, exceeds } from '../tool.ts'
import { type Invocation, isSameExecution } from './invocation.ts'
import { allKeys, NO_KEYS, type ResourceKeys } from './resource-keys.ts'

/**
 * `asleep`: a checkpoint has the call, and nobody has asked for it since. `begun`: it is being made. Then it has settled: it has a
 * `result`; or a message that only says that the end of its run `cut off` the call; or it stays `open` for a resume; or it is `over`
 * without any of these.
 */
export type Course = 'asleep' | 'begun' | End
export type End = 'result' | 'cut off' | 'open' | 'over'

/** A call that is made before its model call has stood is `provisional`. What is decided then is final. */
export type Fate = 'provisional' | 'committed' | 'discarded'

/**
 * `wanted`: a wrap asks for the execution, and it waits for a slot of its run. `checking`: it has one, in which its input is checked.
 * `judged`: it has given that back, and waits until it may take its keys, a slot of its tool and one of its run at once. `storing`: it has
 * them, and waits until it is stored that it begins. `entered`: its function was called. Then it has `ended` with an outcome, or was `left`
 * before it was entered, or was `cut off` after that, or is `abandoned`: it goes on beyond its grace time. One that `threw` what ends the run
 * keeps what it holds until its call has settled.
 */
export type Stage =
  | 'wanted'
  | 'checking'
  | 'judged'
  | 'storing'
  | 'entered'
  | 'threw'
  | 'ended'
  | 'left'
  | 'cut off'
  | 'abandoned'

/** What an execution does, known when its input is checked. */
export interface Does {
  readonly effect: Effect
  readonly keys: ResourceKeys
  /** Whether that is no more than its call may do before its model call has stood. */
  readonly mayBeEarly: boolean
}

export interface ExecutionState {
  readonly invocation: Invocation
  readonly stage: Stage
  readonly does?: Does
  readonly isEntered?: true
}

/** What is known of the executions of a call. */
export interface Executed {
  readonly executions: readonly ExecutionState[]
  /** How often it was executed, in all processes (C14): with those that are at work. */
  readonly attempts: number
  /** What may have happened in a process before this one, unless it is made again. */
  readonly before?: Effect | undefined
  /** An execution had an outcome in a process before this one. */
  readonly wasMade?: boolean
}

/** What is known of a call's fate. */
export interface Fated {
  readonly fate: Fate
  /** Since when it could have been executed, in `performance.now()`: since it was asked for, then since it stands. */
  readonly askedAt: number
  /** When the stream of the attempt that stood with it ended. */
  readonly modelEnded?: number | undefined
  /** Why it was discarded. */
  readonly cause?: DiscardCause
}

/** What is known of a call's tool before its input is checked. */
export interface ToolFacts {
  /** Absent: each input has an effect of its own. */
  readonly effect?: Effect
  /** Whether its calls may name resource keys. */
  readonly namesKeys: boolean
  /** It runs an agent, whose calls are in a run of their own. */
  readonly runsAgent?: true
}

/** A middleware at work: its name, and which of its hooks or wraps. */
export interface Place {
  readonly middleware: string
  readonly hook: string
}

export interface CallState extends Executed, Fated {
  /** Tells it from all other calls of its run. */
  readonly number: number
  /** An attempt that joined the call may have given it another id than it had (O4). */
  readonly id: string
  /** Absent if there is no such tool. */
  readonly tool?: ToolFacts | undefined
  /** The call whose tool or wrap makes this one: it shares that call's fate. */
  readonly maker?: number | undefined
  /** The calls it makes. */
  readonly children: readonly number[]
  /** It is the work behind a call, beside all others: it waits for none of them, and needs no slot of its run. */
  readonly isWork?: true
  readonly step: number
  /** What it and its calls may do, at the most, before its model call has stood. Absent: anything; or a checkpoint does not say it. */
  readonly ceiling?: Effect | undefined
  /** Whether it began before its model call had stood. */
  readonly startedEarly: boolean
  /** Whether a response asks for it, or did before a resume. */
  readonly asked: boolean
  /** The attempts of the model call at work that ask for it. */
  readonly by: readonly number[]
  /** Equal for all calls that ask for the same. Absent if no response asks for it, or its input is not whole yet. */
  readonly content?: number | undefined
  readonly course: Course
  /** How its run stopped before the call was decided: the checkpoint has the call, and a resume decides on it. */
  readonly kept?: 'interrupted' | 'cancelled' | undefined
  /** Why it was told to stop: `cancelled` alone or with the call that makes it, or `stopped` with its run. */
  readonly aborted?: 'cancelled' | 'stopped' | undefined
  /** It was told to stop, and went on beyond its grace time (K12). */
  readonly isAbandoned?: true
  /** It waited for its commit when its run paused. What comes of it is dropped, and it stays open. */
  readonly isRefused?: true
  /** An execution that had been entered threw what ends its run, or a stop that is not its own question: it may have happened. */
  readonly isCutOff?: true
  /** The end of a process has cut it off, and it is made again (L20). */
  readonly isRerun?: true
  /** What it asks itself, by the number of the question; `by` a wrap, or else by its tool. */
  readonly asking?: { readonly question: number; readonly by?: Place }
  /** What its tool, or the runs of agents in it, have asked: several at once, if a wrap has it executed several times at once. */
  readonly questions: readonly number[]
  /** A stop that is not its own question, and that its commit or a call that it waits for has come to. */
  readonly met?: number
  /** Whether the run has told of its message, and whether that has come through all `wrapAgent`s to the reader. */
  readonly isTold?: boolean
  readonly isShown?: boolean
}

export function hasSettled({ course }: CallState): boolean {
  return course !== 'asleep' && course !== 'begun'
}

/** Nothing more comes of it: it has settled and does not stay open, or it sleeps and was discarded; and its fate is decided. */
export function isOver({ course, fate }: CallState): boolean {
  if (fate === 'provisional' || course === 'begun' || course === 'open') return false
  return course !== 'asleep' || fate === 'discarded'
}

/**
 * It does not start, and nobody waits for its turn: it sleeps, it was discarded, or `isHeld`: only attempts that have failed ask for it
 * (G11, H22).
 */
export function isAside({ course, fate }: Fated & { readonly course: string }, isHeld: boolean): boolean {
  return course === 'asleep' || fate === 'discarded' || (fate === 'provisional' && isHeld)
}

/** Its function was entered, in whatever process. */
export function wasEntered(call: Executed): boolean {
  return effectOf(call) !== undefined || call.wasMade === true
}

/** The effect of the newest execution that was entered. */
export function effectOf({ executions, before }: Executed): Effect | undefined {
  return executions.findLast(({ isEntered }) => isEntered)?.does?.effect ?? before
}

/** Whether an execution has a slot of its run. */
export function holdsSlot({ stage }: ExecutionState): boolean {
  return stage === 'checking' || usesKeys({ stage }) || stage === 'threw'
}

/** Whether it has its keys: of those that name one key, a writer has it without the others. */
export function usesKeys({ stage, does }: Pick<ExecutionState, 'stage' | 'does'>): boolean {
  return stage === 'storing' || stage === 'entered' || (stage === 'threw' && does !== undefined)
}

export function executionOf({ executions }: Executed, which: Invocation): ExecutionState | undefined {
  // Asked several times for each execution: no function is made for that.
  for (let place = executions.length - 1; place >= 0; place--) {
    const one = executions[place]
    if (one && isSameExecution(one.invocation, which)) return one
  }
  return undefined
}

/** It goes on beyond its grace time, and nobody waits for it; without `which`: any of the executions. */
export function isAbandoned({ executions }: Executed, which?: Invocation): boolean {
  return executions.some(
    ({ stage, invocation }) => stage === 'abandoned' && (!which || isSameExecution(invocation, which)),
  )
}

export function isEntered(call: Executed, which: Invocation): boolean {
  return executionOf(call, which)?.isEntered === true
}

/** Which call of `next` the next execution with this input comes of. */
export function nextInvocation({ executions }: Executed, input: string | undefined): Invocation {
  const n = executions.filter(({ invocation }) => invocation.input === input).length
  return { ...(input !== undefined && { input }), n }
}

/** What all its executions touch; `undefined` as long as none is judged. Nobody sees what a discarded call reads. */
export function keysOf({ executions }: Executed, fate: Fate): ResourceKeys | undefined {
  let keys: ResourceKeys | undefined
  for (const { does } of executions) if (does) keys = keys ? allKeys(keys, does.keys) : does.keys
  return keys && fate === 'discarded' ? { ...keys, reads: NO_KEYS.reads } : keys
}

/** How often a call was executed, and the gravest of what may have happened with nobody knowing what came of it. */
export interface Tries {
  readonly attempts: number
  readonly effect?: Effect
}

/** What is to be stored of a call that has not settled. `isLast`: what waits is not entered any more. */
export function triesOf({ executions, attempts, before }: Executed, isLast: boolean): Tries {
  const waiting = executions.filter(({ stage }) => stage === 'judged' || stage === 'storing').length
  const isBefore = before && executions.every(({ isEntered }) => !isEntered)
  let effect = isBefore ? before : undefined
  for (const one of executions) {
    if (one.does && mayHaveHappened(one, isLast) && !(effect && exceeds(effect, one.does.effect)))
      effect = one.does.effect
  }
  return { attempts: isLast ? attempts - waiting : attempts, ...(effect && { effect }) }
}

/** From the moment in which it is to be stored that it begins, until it has an outcome. */
function mayHaveHappened({ stage, does, isEntered }: ExecutionState, isLast: boolean): boolean {
  if (stage === 'storing') return !isLast && does?.effect !== 'read'
  return isEntered === true && stage !== 'ended' && stage !== 'abandoned'
}
