/**
 * The state of one call and of its executions as plain data, and functions that read it. The values of users (inputs, outputs, errors) are
 * in `CallEntry`; of a stop it only matters which one it is. decide-call.ts makes each new state, and decide-calls.ts the first one.
 */

import type { Effect } from '../vocabulary/effect.ts'
import type { RunStop } from '../vocabulary/errors.ts'
import type { DiscardCause } from '../vocabulary/events.ts'
import type { Interrupt } from '../vocabulary/interrupt.ts'
import type { ResourceKeys } from '../vocabulary/resource-keys.ts'
import type { Invocation } from '../vocabulary/saved-run.ts'
import { isSameExecution, type KnownOutcome } from './invocation.ts'

/**
 * How far a call has come. `asleep`: it was loaded from a checkpoint and nothing has requested it since. `begun`: its wraps and its tool
 * are running. With an {@link End} it has settled.
 */
export type Course = 'asleep' | 'begun' | End

/**
 * How a call has settled. `result`: with a message. `cut off`: with a message that only states that the end of the run cut it off. `open`:
 * without a message, and a resume continues it. `none`: without a message, and no resume continues it.
 */
export type End = 'result' | 'cut off' | 'open' | 'none'

/** Until the response of its model call is accepted, a call is `provisional`. Then it is `committed` or `discarded`, and that is final. */
export type Fate = 'provisional' | 'committed' | 'discarded'

/**
 * What the reader has seen of a call:
 *
 * - `hidden`: nothing. No model event has announced the call to the reader yet, and the events of the call wait for that.
 * - `open`: the call, and its events as they happen.
 * - `ended`: the run has emitted the event with its message.
 * - `shown`: that event has passed every `wrapAgent` and reached the reader.
 */
export type Told = 'hidden' | 'open' | 'ended' | 'shown'

/**
 * How far an execution has come:
 *
 * - `wanted`: a wrap has asked for it. It waits for a slot of its run, or has stopped waiting.
 * - `checking`: it has that slot, and its input is being checked.
 * - `judged`: its effect and its keys are known. It has returned the slot, and waits until it can take its keys, a slot of its tool and
 *   a slot of its run together.
 * - `storing`: it has them, and a checkpoint that contains this is being saved.
 * - `entered`: its tool's function was called.
 * - `threw`: it threw an error that ends the run. It keeps its slots and its keys until its call has settled.
 * - `ended`: it has an outcome.
 * - `left`: it is over, and its function was never called.
 * - `cut off`: its function was called, and it is over without an outcome.
 * - `abandoned`: its function is still running after its grace time, and nothing waits for it.
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

/** What an execution does. Known once its input is checked. */
export interface Judgement {
  readonly effect: Effect
  readonly keys: ResourceKeys
  /** Whether its call may do this before the response of its model call is accepted. */
  readonly mayBeEarly: boolean
}

export interface ExecutionState {
  readonly invocation: Invocation
  readonly stage: Stage
  readonly judgement?: Judgement
  /** It counts as an attempt of its call. */
  readonly isCounted?: true
  /** Its function was called, whatever happened after that. */
  readonly isEntered?: true
  /** It asked a question, and starts again from the beginning when the question is answered. */
  readonly hasAsked?: true
}

/** What is known of a call's tool before its input is checked. */
export interface ToolFacts {
  /** Absent: the effect depends on the input. */
  readonly effect?: Effect
  /** Whether its calls may name resource keys. */
  readonly namesKeys: boolean
  /** What a call has done can be undone. */
  readonly isReversible?: boolean
  /** It runs an agent. The calls of that agent belong to another run. */
  readonly runsAgent?: true
}

/** What is known of the work of a background call. */
export interface WorkState {
  /** What happens to it if it is running when the run has its answer. */
  readonly atEnd: 'wait' | 'cancel' | 'detach'
  /** The model has read its result. */
  readonly isRead?: true
  /** It goes on after its run, which no longer stops it. */
  readonly isHandedOver?: true
}

/** A hook or a wrap of a middleware. */
export interface MiddlewareHook {
  readonly middleware: string
  readonly hook: string
}

export interface CallState {
  /** Unique among the calls of its run. */
  readonly number: number
  /** The id from the response. An attempt that joins the call replaces it with the id it uses. */
  readonly id: string
  /** Absent if no tool has the name in the call. */
  readonly tool?: ToolFacts | undefined
  /** The number of the call whose tool or wrap makes this one. Both are committed or discarded together. */
  readonly maker?: number | undefined
  /** The numbers of the calls that it makes. */
  readonly children: readonly number[]
  /** Present on the work of a background call. Such a call has no place in call order and needs no slot of its run. */
  readonly work?: WorkState
  readonly step: number
  /**
   * The strongest effect that it and the calls it makes may have before the response of its model call is accepted. Absent: any effect, or
   * the call was loaded from a checkpoint, which does not contain the ceiling.
   */
  readonly ceiling?: Effect | undefined
  /** Whether it was made before the response of its model call was accepted. */
  readonly startedEarly: boolean
  /** Whether a response requests it, or did so in an earlier process. */
  readonly isRequested: boolean
  /** The attempts of its model call that request it, in order of arrival. */
  readonly requestedBy: readonly number[]
  /** Equal for all calls of a step with the same tool and input. Absent without a request, and while the input is incomplete. */
  readonly content?: number | undefined
  readonly course: Course
  readonly fate: Fate
  /** When the call was requested, in `performance.now()`. If it was provisional: when it was committed. */
  readonly requestedAt: number
  /** When the stream of the accepted attempt that requested it ended, in `performance.now()`. */
  readonly modelEnded?: number | undefined
  /** Why it was discarded. */
  readonly cause?: DiscardCause
  readonly executions: readonly ExecutionState[]
  /** How often the call was executed, in all processes, including executions that are running. */
  readonly attempts: number
  /** The effect that an execution in an earlier process may have had, according to the checkpoint. */
  readonly effectBefore?: Effect | undefined
  /** An execution in an earlier process had an outcome. */
  readonly hadOutcome?: boolean
  /** The known outcomes that no wrap has asked for since the resume. `place`: the index of the outcome in the checkpoint. */
  readonly knownOutcomes?: readonly KnownOutcome[]
  /** How its run stopped while the call was provisional. The checkpoint contains the call, and a resume decides its fate. */
  readonly kept?: 'interrupted' | 'cancelled' | undefined
  /** Why it was stopped. `cancelled`: it, or the call that makes it, was cancelled. `stopped`: for any other reason. */
  readonly aborted?: 'cancelled' | 'stopped' | undefined
  /** It was stopped, and was still running after its grace time. */
  readonly isAbandoned?: true
  /** It waited for a commit when its run paused. Its result is dropped, and it stays open. */
  readonly isParked?: true
  /** An earlier process may have made it, and its output is not known. */
  readonly isUnknown?: true
  /** It has succeeded, and the data that an undo needs is available. */
  readonly isDone?: boolean
  /**
   * How far its undo has come. `theirs`: a resume, or another process that continues the run, decides whether to undo it. `before`: it
   * began in an earlier process and is not repeated. `ended`: it succeeded or failed.
   */
  readonly undo?: 'theirs' | 'before' | 'begun' | 'ended' | undefined
  /** The end of an earlier process cut it off, and this process makes it again. */
  readonly isRerun?: true
  /** The question that it asked itself. `by`: the wrap that asked; absent: its tool asked. */
  readonly ownQuestion?: { readonly interrupt: Interrupt; readonly by?: MiddlewareHook }
  /** All questions of its tool and of the agents that the tool runs. Parallel executions may ask several. */
  readonly questions: readonly RunStop[]
  /** The stop that its commit, or a call that it waits for, ended with. It is not its own question. */
  readonly metStop?: RunStop
  readonly told: Told
}

export function hasSettled({ course }: CallState): boolean {
  return course !== 'asleep' && course !== 'begun'
}

/** What happens to an event of a call: the reader sees it (`told`), it `waits` until the reader has seen the call, or it is `dropped`. */
export function eventOf(call: CallState): 'told' | 'waits' | 'dropped' {
  if (hasSettled(call) || call.fate === 'discarded') return 'dropped'
  return call.told === 'hidden' ? 'waits' : 'told'
}

/**
 * Whether a discarded call is undone. `none`: nothing to undo. `due`: it has succeeded, maybe in an earlier process. `late`: it is still
 * running after its grace time, and is undone if it succeeds. Not undone: what an earlier process may have made (`unknown`), and an
 * execution that goes on while nothing waits for it (`abandoned`).
 */
export function undoOf(
  call: CallState,
): 'none' | 'due' | 'late' | 'unknown' | 'abandoned' | NonNullable<CallState['undo']> {
  if (call.undo) return call.undo
  if (call.fate !== 'discarded' || !call.tool?.isReversible || call.course === 'begun') return 'none'
  if (call.isDone) return 'due'
  if (call.isUnknown) return 'unknown'
  if (hasAbandoned(call)) return 'abandoned'
  return call.isAbandoned ? 'late' : 'none'
}

/** Whether this process still has to undo a discarded call, or is undoing it. */
export function isUndoAhead(call: CallState): boolean {
  const undo = undoOf(call)
  return undo === 'due' || undo === 'late' || undo === 'begun'
}

/** Whether a call can no longer change: it has settled for good and its fate is decided, or it was discarded while asleep. */
export function isFinal({ course, fate }: CallState): boolean {
  if (fate === 'provisional' || course === 'begun' || course === 'open') return false
  return course !== 'asleep' || fate === 'discarded'
}

/** Whether its function was called, in this process or in an earlier one. `asksAgain` is that of {@link effectOf}. */
export function wasEntered(call: CallState, asksAgain?: boolean): boolean {
  return effectOf(call, asksAgain) !== undefined || call.hadOutcome === true
}

/**
 * The effect of the newest execution whose function was called.
 *
 * @param asksAgain - Executions that ask do not count: each starts again from the beginning when it is answered.
 */
export function effectOf({ executions, effectBefore }: CallState, asksAgain?: boolean): Effect | undefined {
  const entered = executions.findLast(({ isEntered, hasAsked }) => isEntered && !(asksAgain && hasAsked))
  return entered?.judgement?.effect ?? effectBefore
}

/** Whether an execution has a slot of its run. */
export function hasSlot({ stage }: ExecutionState): boolean {
  return stage === 'checking' || hasKeys({ stage }) || stage === 'threw'
}

/** Whether an execution has its keys. */
export function hasKeys({ stage, judgement }: Pick<ExecutionState, 'stage' | 'judgement'>): boolean {
  return stage === 'storing' || stage === 'entered' || (stage === 'threw' && judgement !== undefined)
}

export function executionOf(
  { executions }: Pick<CallState, 'executions'>,
  which: Invocation,
): ExecutionState | undefined {
  // This loop allocates no closure, because it runs several times for each execution.
  for (let place = executions.length - 1; place >= 0; place--) {
    const one = executions[place]
    if (one && isSameExecution(one.invocation, which)) return one
  }
  return undefined
}

/** Whether this execution, or without `which` any execution, is still running after its grace time while nothing waits for it. */
export function hasAbandoned({ executions }: CallState, which?: Invocation): boolean {
  return executions.some(
    ({ stage, invocation }) => stage === 'abandoned' && (!which || isSameExecution(invocation, which)),
  )
}

export function isEntered(call: CallState, which: Invocation): boolean {
  return executionOf(call, which)?.isEntered === true
}

/** The invocation of the next execution with this input. */
export function nextInvocation({ executions }: CallState, input: string | undefined): Invocation {
  const n = executions.filter(({ invocation }) => invocation.input === input).length
  return { ...(input !== undefined && { input }), n }
}
