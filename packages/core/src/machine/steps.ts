/**
 * How far the steps of a run have come, as plain data. Some functions record what has happened; the others read what follows from it. The
 * messages, errors and middleware that belong to the steps are in state/run-steps.ts and state/inbox.ts.
 */

import type { Phase, Step } from '../vocabulary/saved-run.ts'
import { unreadWorks } from './background.ts'
import type { Calls } from './calls.ts'
import { type Halt, runsOn } from './halt.ts'

export interface Steps {
  /** How many steps have begun, in all processes. */
  begun: number
  /** How many may begin. */
  limit: number
  /** The current step. Absent between two steps. */
  current: Step | undefined
  /** The state of the loop that makes the steps. A `wrapAgent` may call `next` again when the loop is `out`. */
  loop: 'not begun' | 'running' | 'out'
  /** How many sent messages no step has read. */
  waiting: number
  /** Whether the end of the run is decided, so that no step will read new messages. */
  isClosed: boolean
}

export function noSteps(): Steps {
  return { begun: 0, limit: 0, current: undefined, loop: 'not begun', waiting: 0, isClosed: false }
}

/** A loop begins. After the first one, a loop continues with a new step and reads what is sent from now on. */
export function loopBegun(steps: Steps, limit: number): void {
  if (steps.loop === 'out') steps.current = undefined
  steps.limit = limit
  steps.loop = 'running'
  steps.isClosed = false
}

/** The loop has ended. */
export function loopEnded(steps: Steps): void {
  steps.loop = 'out'
}

/** The next step begins. */
export function stepBegun(steps: Steps): void {
  const number = ++steps.begun
  steps.current = { number, phase: 'before-model', done: [], attempts: 0, isOffered: false, direct: false }
}

/** A hook of the present phase is done. */
export function hookDone(steps: Steps, name: string): void {
  change(steps, { done: [...(steps.current?.done ?? []), name] })
}

/** All hooks before, or after, the model call are done. */
export function hooksDone(steps: Steps): void {
  const { phase } = steps.current ?? {}
  if (phase === 'before-model') enter(steps, 'model')
  if (phase === 'after-model') enter(steps, 'calls')
}

/** An attempt of the model call begins. Returns its number. */
export function attemptBegun(steps: Steps): number {
  const attempts = (steps.current?.attempts ?? 0) + 1
  change(steps, { attempts })
  return attempts
}

/** The model call has succeeded. */
export function modelSucceeded(steps: Steps, attempt: number | undefined, unoffered: readonly string[] = []): void {
  enter(steps, 'after-model', { ...(attempt !== undefined && { attempt }), ...(unoffered.length > 0 && { unoffered }) })
}

/** The calls are made, if there were any. `isOffered`: the response, or the result of a call, is offered as the final answer. */
export function answerOffered(steps: Steps, offer: Pick<Step, 'isOffered' | 'direct' | 'finishReason'>): void {
  enter(steps, 'gate', offer)
}

/** The gate has rejected the answer. */
export function answerRejected(steps: Steps): void {
  change(steps, { isOffered: false })
}

/** The gate has accepted the answer. It does not judge it again, whatever happens in the outer wraps. */
export function answerAccepted(steps: Steps): void {
  enter(steps, 'over')
}

/** The step is over. If it had an answer, that answer is not accepted. */
export function stepEnded(steps: Steps): void {
  steps.current = undefined
}

/** The number of waiting messages has changed: some were sent, or all of them enter the history. */
export function messagesWait(steps: Steps, waiting: number): void {
  steps.waiting = waiting
}

/** The end of the run is decided. */
export function inboxClosed(steps: Steps): void {
  steps.isClosed = true
}

/** Whether a step may follow those that have begun. */
export function mayGoOn({ begun, limit }: Steps): boolean {
  return begun < limit
}

/** Whether the offered answer may be accepted. The model first has to answer new messages, and background results that a further step can read. */
export function mayBeAccepted(steps: Steps, calls: Calls): boolean {
  const hasNews = steps.waiting > 0 || (mayGoOn(steps) && unreadWorks(calls).length > 0)
  return steps.current?.isOffered === true && !hasNews
}

/** Whether a message that is sent now is accepted, because a step or a resume may still read it. */
export function takesMessages({ isClosed, current }: Steps, halt: Halt): boolean {
  return !isClosed && current?.phase !== 'over' && runsOn(halt) && halt.phase !== 'over'
}

/** The middleware whose hook of the present phase is next. Hooks after the model call run in reverse order. */
export function dueHook<Named extends { readonly name: string }>(
  { current }: Steps,
  all: readonly Named[],
): Named | undefined {
  const isDue = ({ name }: Named) => current?.done.includes(name) === false
  return current?.phase === 'after-model' ? all.findLast(isDue) : all.find(isDue)
}

function enter(steps: Steps, phase: Phase, more: Partial<Step> = {}): void {
  change(steps, { phase, done: [], ...more })
}

/** If a loop continues after its wrap has left, there is no step any more. */
function change(steps: Steps, to: Partial<Step>): void {
  if (steps.current) steps.current = { ...steps.current, ...to }
}
