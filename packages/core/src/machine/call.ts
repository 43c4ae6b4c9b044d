/**
 * The state of one call and of its executions as plain JSON, and what can be read off it. The values of users, such as inputs, outputs
 * and errors, are not here: `CallEntry` has them. decide-call.ts makes each new state, and decide-calls.ts the first.
 */

import type { Effect } from '../vocabulary/effect.ts'
import type { DiscardCause } from '../vocabulary/events.ts'
import type { ResourceKeys } from '../vocabulary/resource-keys.ts'
import type { Invocation } from '../vocabulary/saved-run.ts'
import { isSameExecution, type KnownOutcome } from './invocation.ts'

/**
 * How far a call has come. `asleep`: it comes from a checkpoint, and nobody has requested it since. `begun`: its wraps and its tool are
 * at work. With an {@link End} it has settled.
 */
export type Course = 'asleep' | 'begun' | End

/**
 * How a call has settled. `result`: it has a message. `cut off`: it has a message that only says that the end of the run cut it off.
 * `open`: it has no message, and a resume goes on with it. `none`: it has no message, and no resume goes on with it.
 */
export type End = 'result' | 'cut off' | 'open' | 'none'

/**
 * A model call stands when nothing can replace its response any more. A call that is made before that is `provisional`. Then it is
 * `committed` or `discarded`, and that is final.
 */
export type Fate = 'provisional' | 'committed' | 'discarded'

/**
 * What the reader is told of a call:
 *
 * - `hidden`: nothing. No model event has told the reader of the call yet, and the events of the call wait for that.
 * - `open`: what happens to the call.
 * - `ended`: the run has emitted the event with its message.
 * - `shown`: that event has passed all `wrapAgent`s and reached the reader.
 */
export type Told = 'hidden' | 'open' | 'ended' | 'shown'

/**
 * How far an execution has come:
 *
 * - `wanted`: a wrap wants it. It waits for a slot of its run, or has stopped waiting.
 * - `checking`: it has that slot, and its input is checked.
 * - `judged`: its effect and its keys are known. It has given the slot back, and waits until it can take its keys, a slot of its tool and
 *   a slot of its run together.
 * - `storing`: it has them, and a checkpoint is saved that says so.
 * - `entered`: its tool's function was called.
 * - `threw`: it threw an error that ends the run. It keeps its slots and its keys until its call has settled.
 * - `ended`: it has an outcome.
 * - `left`: it is over, and its function was never called.
 * - `cut off`: its function was called, and it is over without an outcome.
 * - `abandoned`: its function goes on beyond its grace time, and nobody waits for it.
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

/** What an execution does. It is known when the input is checked. */
export interface Judgement {
  readonly effect: Effect
  readonly keys: ResourceKeys
  /** Whether its call may do this before its model call has stood. */
  readonly mayBeEarly: boolean
}

export interface ExecutionState {
  readonly invocation: Invocation
  readonly stage: Stage
  readonly judgement?: Judgement
  /** It counts as an attempt of its call. */
  readonly isCounted?: true
  /** Its function was called, whatever came after that. */
  readonly isEntered?: true
  /** It asked, and goes on from its top when it is answered. */
  readonly hasAsked?: true
}

/** What is known of the executions of a call. */
export interface HasExecutions {
  readonly executions: readonly ExecutionState[]
  /** How often it was executed in all processes. Executions at work count. */
  readonly attempts: number
  /** The effect that an execution in an earlier process may have had, as the checkpoint says. */
  readonly effectBefore?: Effect | undefined
  /** An execution in an earlier process had an outcome. */
  readonly hadOutcome?: boolean
  /** Those that had one, as far as no wrap of this process has wanted them yet. `place`: the index of the outcome in the checkpoint. */
  readonly knownOutcomes?: readonly KnownOutcome[]
}

/** What is known of a call's fate. */
export interface HasFate {
  readonly fate: Fate
  /** When it was requested; from its commit on, if it was provisional: when it was committed. In `performance.now()`. */
  readonly requestedAt: number
  /** When the stream of the attempt that requested it and stood ended, in `performance.now()`. */
  readonly modelEnded?: number | undefined
  /** Why it was discarded. */
  readonly cause?: DiscardCause
}

/** What is known of a call's tool before its input is checked. */
export interface ToolFacts {
  /** Absent: the effect depends on the input. */
  readonly effect?: Effect
  /** Whether its calls may name resource keys. */
  readonly namesKeys: boolean
  /** What a call has done can be undone. */
  readonly isReversible?: boolean
  /** It runs an agent. The calls of that agent belong to a run of their own. */
  readonly runsAgent?: true
}

/** What is known of the work behind a background call. */
export interface WorkState {
  /** What becomes of it if it is at work when the run has its answer. */
  readonly atEnd: 'wait' | 'cancel' | 'detach'
  /** The model has read its result. */
  readonly isRead?: true
  /** It goes on beyond its run, which does not stop it any more. */
  readonly isHandedOver?: true
}

/** A hook or a wrap of a middleware. */
export interface MiddlewareHook {
  readonly middleware: string
  readonly hook: string
}

export interface CallState extends HasExecutions, HasFate {
  /** Tells it from all other calls of its run. */
  readonly number: number
  /** An attempt that joins the call gives it its own id for it. */
  readonly id: string
  /** Absent if no tool has the name that the call has. */
  readonly tool?: ToolFacts | undefined
  /** The number of the call whose tool or wrap makes this one. This call shares the fate of that call. */
  readonly maker?: number | undefined
  /** The numbers of the calls that it makes. */
  readonly children: readonly number[]
  /** It is the work of a background call. It has no place in call order, and needs no slot of its run. */
  readonly work?: WorkState
  readonly step: number
  /**
   * The gravest effect that it and the calls it makes may have before its model call has stood. Absent: any effect, or the call comes
   * from a checkpoint, which does not hold the ceiling.
   */
  readonly ceiling?: Effect | undefined
  /** Whether it was made before its model call had stood. */
  readonly startedEarly: boolean
  /** Whether a response requests it, or did in an earlier process. */
  readonly isRequested: boolean
  /** The attempts of its model call that request it, in order of arrival. */
  readonly requestedBy: readonly number[]
  /** Equal for all calls of a step with the same tool and input. Absent if no response requests it, or its input is not whole yet. */
  readonly content?: number | undefined
  readonly course: Course
  /** How its run stopped while the call was provisional. The checkpoint holds the call, and a resume decides its fate. */
  readonly kept?: 'interrupted' | 'cancelled' | undefined
  /** Why it was told to stop. `cancelled`: somebody cancelled it, or the call that makes it. `stopped`: for any other reason. */
  readonly aborted?: 'cancelled' | 'stopped' | undefined
  /** It was told to stop, and went on beyond its grace time. */
  readonly isAbandoned?: true
  /** It waited for a commit when its run paused. Whatever it comes to is dropped, and it stays open. */
  readonly isParked?: true
  /** An earlier process may have made it, and what it gave is not known. */
  readonly isUnknown?: true
  /** It has succeeded, and what an undo needs is there. */
  readonly isDone?: boolean
  /**
   * Of its undo. `theirs`: a resume, or whoever else goes on with the run, decides on it. `before`: it began in an earlier process, and is
   * not repeated. `ended`: it has gone well, or failed.
   */
  readonly undo?: 'theirs' | 'before' | 'begun' | 'ended' | undefined
  /** The end of an earlier process cut it off, and this process makes it again. */
  readonly isRerun?: true
  /** The question that it asks itself, by number. `by`: the wrap that asks; absent: its tool asks. */
  readonly ownQuestion?: { readonly question: number; readonly by?: MiddlewareHook }
  /** All questions of its tool, and of the agents that the tool runs. Executions at the same time may ask several. */
  readonly questions: readonly number[]
  /** The stop, by number, that its commit or a call that it waits for came to. It is not its own question. */
  readonly metStop?: number
  readonly told: Told
}

export function hasSettled({ course }: CallState): boolean {
  return course !== 'asleep' && course !== 'begun'
}

/** What becomes of an event of a call. It `waits` until the reader is told of the call. It is `dropped` if the call is over. */
export function eventOf(call: CallState): 'told' | 'waits' | 'dropped' {
  if (hasSettled(call) || call.fate === 'discarded') return 'dropped'
  return call.told === 'hidden' ? 'waits' : 'told'
}

/**
 * Whether a discarded call is undone. `none`: there is nothing to undo. `due`: it has succeeded, maybe in an earlier process. `late`: it goes on beyond its grace
 * time, and it is undone if it succeeds. Not undone is what an earlier process may have made (`unknown`), and an execution that goes on
 * and that nobody waits for (`lost`).
 */
export function undoOf(call: CallState): 'none' | 'due' | 'late' | 'unknown' | 'lost' | NonNullable<CallState['undo']> {
  if (call.undo) return call.undo
  if (call.fate !== 'discarded' || !call.tool?.isReversible || call.course === 'begun') return 'none'
  if (call.isDone) return 'due'
  if (call.isUnknown) return 'unknown'
  if (hasAbandoned(call)) return 'lost'
  return call.isAbandoned ? 'late' : 'none'
}

/** Whether a discarded call is to be undone, or is being undone, by this process. */
export function isUndoAhead(call: CallState): boolean {
  const undo = undoOf(call)
  return undo === 'due' || undo === 'late' || undo === 'begun'
}

/** Nothing more comes of it: its fate is decided, and it has settled and does not stay open, or it was discarded in its sleep. */
export function isFinal({ course, fate }: CallState): boolean {
  if (fate === 'provisional' || course === 'begun' || course === 'open') return false
  return course !== 'asleep' || fate === 'discarded'
}

/**
 * Whether it does not start now, and no other call waits for it: it sleeps, it was discarded, or only failed attempts request it.
 *
 * @param isHeld - Whether a provisional call waits for the next attempt.
 */
export function isSetAside({ course, fate }: Pick<CallState, 'course' | 'fate'>, isHeld: boolean): boolean {
  return course === 'asleep' || fate === 'discarded' || (fate === 'provisional' && isHeld)
}

/** Whether its function was called, in this process or in an earlier one. */
export function wasEntered(call: HasExecutions): boolean {
  return effectOf(call) !== undefined || call.hadOutcome === true
}

/** The effect of the newest execution whose function was called. */
export function effectOf({ executions, effectBefore }: HasExecutions): Effect | undefined {
  return executions.findLast(({ isEntered }) => isEntered)?.judgement?.effect ?? effectBefore
}

/** Whether an execution has a slot of its run. */
export function hasSlot({ stage }: ExecutionState): boolean {
  return stage === 'checking' || hasKeys({ stage }) || stage === 'threw'
}

/** Whether an execution has its keys. */
export function hasKeys({ stage, judgement }: Pick<ExecutionState, 'stage' | 'judgement'>): boolean {
  return stage === 'storing' || stage === 'entered' || (stage === 'threw' && judgement !== undefined)
}

export function executionOf({ executions }: HasExecutions, which: Invocation): ExecutionState | undefined {
  // Called several times for each execution: no function is made for that.
  for (let place = executions.length - 1; place >= 0; place--) {
    const one = executions[place]
    if (one && isSameExecution(one.invocation, which)) return one
  }
  return undefined
}

/** Whether this execution goes on beyond its grace time, and nobody waits for it. Without `which`: whether any execution does. */
export function hasAbandoned({ executions }: HasExecutions, which?: Invocation): boolean {
  return executions.some(
    ({ stage, invocation }) => stage === 'abandoned' && (!which || isSameExecution(invocation, which)),
  )
}

export function isEntered(call: HasExecutions, which: Invocation): boolean {
  return executionOf(call, which)?.isEntered === true
}

/** The invocation of the next execution with this input. */
export function nextInvocation({ executions }: HasExecutions, input: string | undefined): Invocation {
  const n = executions.filter(({ invocation }) => invocation.input === input).length
  return { ...(input !== undefined && { input }), n }
}
