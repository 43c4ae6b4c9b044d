/** What happens to a call: each function takes a fact and gives the new state, or the same one where the fact changes nothing. */

import type { DiscardCause } from '../events.ts'
import {
  type CallState,
  type Does,
  type End,
  type Executed,
  type ExecutionState,
  executionOf,
  type Fated,
  hasSettled,
  type Place,
  type Stage,
} from './call.ts'
import type { Invocation } from './invocation.ts'

export function begun(call: CallState): CallState {
  return call.course === 'asleep' ? { ...call, course: 'begun' } : call
}

/** What its wraps, or the run that waits for them, came to. */
export type Came = 'result' | 'cut off' | 'stop' | 'throw'

/**
 * How a call ends that comes to this:
 *
 *     the call is    result   cut off   stop    throw
 *     refused        open     open      open    open
 *     discarded      over     over      over    over
 *     cancelled      result   result    over    over
 *     stopped        result   cut off   over    over
 *     none of these  result   cut off   open    over
 *
 * The first line that says what the call is counts. A call that is cancelled and refused has a result, if nothing was thrown.
 */
export function endOf({ isRefused, fate, aborted }: CallState, came: Came): End {
  const isThrown = came === 'stop' || came === 'throw'
  if (isRefused && (isThrown || aborted !== 'cancelled')) return 'open'
  if (fate === 'discarded') return 'over'
  if (isThrown) return came === 'stop' && !aborted ? 'open' : 'over'
  return aborted === 'cancelled' ? 'result' : came
}

/** The first end counts. */
export function settled(call: CallState, end: End): CallState {
  return hasSettled(call) ? call : { ...call, course: end }
}

export function renamed(call: CallState, id: string): CallState {
  return { ...call, id }
}

/** A further attempt asks for it. */
export function askedBy(call: CallState, attempt: number): CallState {
  return { ...call, by: [...call.by, attempt] }
}

/** It asks for what all calls with this content do: if it began with the members its tool needs, its input is whole now. */
export function asksFor(call: CallState, content: number): CallState {
  return { ...call, content }
}

export function withChild(call: CallState, child: number): CallState {
  return { ...call, children: [...call.children, child] }
}

/** Its model call has stood, and asks for it. Times: `performance.now()`. */
export function committed<Call extends Fated>(call: Call, askedAt: number, modelEnded?: number): Call {
  return call.fate === 'provisional' ? { ...call, fate: 'committed', askedAt, modelEnded } : call
}

export function discarded<Call extends Fated>(call: Call, cause: DiscardCause): Call {
  return call.fate === 'provisional' ? { ...call, fate: 'discarded', cause } : call
}

/** Its run stops before it is decided; `undefined`: no resume decides on it. */
export function kept(call: CallState, how: CallState['kept']): CallState {
  return call.kept === how ? call : { ...call, kept: how }
}

/** The first abort of a call at work counts. */
export function aborted(call: CallState, why: CallState['aborted']): CallState {
  return call.course === 'begun' && !call.aborted ? { ...call, aborted: why } : call
}

/** It asks, or a wrap round it does. */
export function asks(call: CallState, question: number, by?: Place): CallState {
  return { ...call, asking: { question, ...(by && { by }) } }
}

/** Its tool, or the run of an agent in it, has asked. */
export function hasAsked(call: CallState, question: number): CallState {
  return { ...call, questions: [...call.questions, question] }
}

/** The commit, or the call, that it waits for has come to this stop. */
export function meets(call: CallState, stop: number): CallState {
  return { ...call, met: stop }
}

/** Its run pauses, and no commit follows in this process. */
export function refused(call: CallState): CallState {
  return call.fate === 'provisional' && call.course === 'begun' ? { ...call, isRefused: true } : call
}

export function noted(call: CallState, what: 'isAbandoned' | 'isCutOff' | 'isRerun' | 'isTold' | 'isShown'): CallState {
  return { ...call, [what]: true }
}

/** An execution only ever goes forward. What it came to counts, whatever comes after it. */
const ORDER: readonly Stage[] = [
  'wanted',
  'checking',
  'judged',
  'storing',
  'entered',
  'threw',
  'left',
  'cut off',
  'ended',
  'abandoned',
]

/** A wrap asks for one more execution. */
export function wanted<Call extends Executed>(call: Call, invocation: Invocation): Call {
  return { ...call, executions: [...call.executions, { invocation, stage: 'wanted' }] }
}

/** An execution begins, as an attempt (`by` 1), or has not been entered when its run paused: after the resume it is the same attempt (-1). */
export function counted<Call extends Executed>(call: Call, by: 1 | -1): Call {
  return { ...call, attempts: call.attempts + by }
}

/** An execution goes on to this stage, if that lies before it. `does`: what is known of it then. */
export function moved<Call extends Executed>(call: Call, which: Invocation, stage: Stage, does?: Does): Call {
  const one = executionOf(call, which)
  if (!one || ORDER.indexOf(stage) <= ORDER.indexOf(one.stage)) return call
  const { executions } = call
  return { ...call, executions: executions.with(executions.indexOf(one), movedOn(one, stage, does)) }
}

function movedOn(one: ExecutionState, stage: Stage, does: Does | undefined): ExecutionState {
  if (does) return { ...one, stage, does }
  return stage === 'entered' ? { ...one, stage, isEntered: true } : { ...one, stage }
}

/** Nothing more comes of an execution. */
export function out<Call extends Executed>(call: Call, which: Invocation): Call {
  const isEntered = executionOf(call, which)?.isEntered
  return moved(call, which, isEntered ? 'cut off' : 'left')
}
