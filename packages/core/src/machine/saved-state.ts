/**
 * Decides what a checkpoint contains of the calls and steps of a run, and in which state they continue when the run is resumed. checkpoint/
 * adds the values that belong to them.
 */

import { changesNothing, type Effect, exceeds } from '../vocabulary/effect.ts'
import type { Invocation, SavedCallState, SavedSteps } from '../vocabulary/saved-run.ts'
import { type CallState, type ExecutionState, effectOf, hasAbandoned, isUndoAhead, type WorkState } from './call.ts'
import { type Calls, callOf, isInputOpen, isPast } from './calls.ts'
import { isSameExecution } from './invocation.ts'
import type { Steps } from './steps.ts'

/**
 * Whether a checkpoint contains a call. The history already contains the calls of earlier steps, except those that are still running; a
 * call that no response requested is never made again. A discarded call is kept as long as the run has to stop or undo an effect of it.
 *
 * @param step - The number of the current step, if there is one.
 * @param isLast - It is the checkpoint of a run that has stopped. This process itself stops and undoes what is discarded.
 */
export function isSaved(calls: Calls, call: CallState, step: number | undefined, isLast: boolean): boolean {
  if (isInputOpen(calls, call)) return false
  const maker = call.maker === undefined ? undefined : calls.all.get(call.maker)
  if (maker) return isSaved(calls, maker, step, isLast)
  if (call.fate === 'discarded') return !isLast && leavesEffect(calls, call)
  return !call.isRequested || call.step === step || !isPast(calls, call)
}

/** Whether an effect of a discarded call may remain if its process ends now, because the call is still stopping or is still to undo. */
function leavesEffect(calls: Calls, call: CallState): boolean {
  const effect = call.course === 'begun' && effectWithoutOutcome(call, false, [])
  const isOwn = isUndoAhead(call) || (effect && !changesNothing(effect))
  return isOwn || call.children.some((child) => leavesEffect(calls, callOf(calls, child)))
}

/**
 * What a checkpoint contains of the state of a call.
 *
 * @param isLast - It is the checkpoint of a run that has stopped, so a waiting execution does not call its function any more.
 * @param nested - The executions in which agents run. Their own checkpoints contain what these agents have done.
 */
export function savedCall(call: CallState, isLast: boolean, nested: readonly Invocation[]): SavedCallState {
  const { id, step, isRequested, course, told, work } = call
  // Nothing uses the result of a discarded call.
  const hasResult = course === 'result' && call.fate !== 'discarded'
  const effect = course === 'result' ? hasResult && effectOf(call) : effectWithoutOutcome(call, isLast, nested)
  const isUnknown = hasResult && (call.isUnknown || call.isAbandoned || hasAbandoned(call))
  return {
    id,
    step,
    isRequested,
    // A resume decides about what a run discards as it stops.
    fate: call.kept && call.fate === 'discarded' ? 'provisional' : call.fate,
    attempts: attemptsMade(call, isLast),
    ...(effect && { effect }),
    told: hasResult && (told === 'ended' || told === 'shown') ? 'shown' : 'open',
    ...(isUnknown && { isUnknown }),
    ...(work && { isWork: true }),
    ...(work?.isRead && { isRead: true }),
  }
}

/** The number of attempts that a resume starts from. An execution whose function has not been called by then does not count. */
function attemptsMade({ attempts, executions }: CallState, isLast: boolean): number {
  const isAhead = ({ stage, isCounted }: ExecutionState) =>
    isCounted && (stage === 'checking' || stage === 'judged' || (isLast && stage === 'storing'))
  return attempts - executions.filter(isAhead).length
}

/** The strongest effect that may have happened and has no known outcome. */
function effectWithoutOutcome(
  { executions, effectBefore }: CallState,
  isLast: boolean,
  nested: readonly Invocation[],
): Effect | undefined {
  let gravest = executions.some(({ isEntered }) => isEntered) ? undefined : effectBefore
  for (const one of executions) {
    // An execution that asks starts again from the beginning when it is answered, and an agent continues from its own checkpoint.
    if (one.hasAsked || nested.some((invocation) => isSameExecution(invocation, one.invocation))) continue
    const effect = mayHaveHappened(one, isLast) ? one.judgement?.effect : undefined
    if (effect && !(gravest && exceeds(gravest, effect))) gravest = effect
  }
  return gravest
}

/** Whether an execution may have had its effect and has no known outcome. This begins with the save before its function is called. */
function mayHaveHappened({ stage, judgement, isEntered }: ExecutionState, isLast: boolean): boolean {
  if (stage === 'storing') return !isLast && judgement?.effect !== 'read'
  return isEntered === true && stage !== 'ended' && stage !== 'abandoned'
}

/** The parts of a saved call that determine its state. */
interface Kept extends SavedCallState {
  readonly outcomes: readonly { readonly invocation: Invocation }[]
  readonly done?: unknown
}

/** The state of a call before its run knows its tool, its maker and its content. */
export type CallBegun = Omit<CallState, 'number' | 'children' | 'tool' | 'maker' | 'content' | 'requestedAt' | 'undo'>

/**
 * The state in which a call of a checkpoint continues. If it has a result, it settles with that result.
 *
 * @param atEnd - What happens to work in the background at the end of the run, as its tool is defined now.
 */
export function loadedCall({ effect, outcomes, done, ...saved }: Kept, atEnd: WorkState['atEnd']): CallBegun {
  const { id, step, isRequested, fate, attempts, told, isUnknown, isWork, isRead } = saved
  return {
    id,
    step,
    isRequested,
    fate,
    ...(fate === 'discarded' && { cause: 'call_withdrawn' }),
    startedEarly: fate !== 'committed',
    requestedBy: [],
    course: 'asleep',
    attempts,
    executions: [],
    effectBefore: effect,
    hadOutcome: outcomes.length > 0,
    knownOutcomes: outcomes.map(({ invocation }, place) => ({ invocation, place })),
    questions: [],
    told,
    isDone: done !== undefined,
    ...(isUnknown && { isUnknown }),
    ...(isWork && { work: { atEnd, ...(isRead && { isRead }) } }),
  }
}

type GoesOn = 'open' | 'asleep' | 'again' | 'unknown'

/**
 * How a call of a checkpoint without a result continues. `open`: it has asked a question that has no answer yet. `asleep`: it is made when
 * it is requested. `again`: the same, although it had begun before the resume. `unknown`: it may have happened, and is not made.
 *
 * @param rerun - The effects that may happen twice. A call with the effect `calls` may always run again, because it finds the calls that it
 * had made.
 */
export function goesOn(call: CallState, asks: boolean, rerun: readonly Effect[]): GoesOn {
  const effect = effectOf(call)
  if (asks) return 'open'
  if (!effect) return 'asleep'
  return effect === 'calls' || rerun.includes(effect) ? 'again' : 'unknown'
}

/** Restores the steps from a checkpoint. */
export function stepsLoaded(steps: Steps, { begun, current }: Pick<SavedSteps, 'begun' | 'current'>): void {
  steps.begun = begun
  steps.current = current
}
