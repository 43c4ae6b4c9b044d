/**
 * Changes the state after a fact, at once and completely, without calling anything. The machine receives the facts about calls in the order
 * in which the interpreter reports them.
 */

import {
  type CallState,
  executionOf,
  hasAbandoned,
  hasSettled,
  nextInvocation,
  wasEntered,
} from '../../../src/machine/call.ts'
import { callOf, mayStartFor } from '../../../src/machine/calls.ts'
import {
  addsQuestion,
  asksQuestion,
  attemptCounted,
  begun,
  endOf,
  executionAsked,
  executionOver,
  executionWanted,
  kept,
  marked,
  movedTo,
  parked,
  recalled,
  settled,
  undoing,
  type WrapsOutcome,
  withContent,
} from '../../../src/machine/decide-call.ts'
import {
  attemptEnded,
  callChanged,
  callClosed,
  callDiscarded,
  callMade,
  callShown,
  callStopped,
  decideCall,
  idAnnounced,
  responseEnded,
  restDiscarded,
  runStopped,
} from '../../../src/machine/decide-calls.ts'
import { arrived, beginsToWait, dueOf, stopsWaiting, takesOverSlot, takesTurn } from '../../../src/machine/due.ts'
import { decideHalt, isLost, mayStart } from '../../../src/machine/halt.ts'
import { isSameExecution, knownFor } from '../../../src/machine/invocation.ts'
import {
  answerOffered,
  answerRejected,
  attemptBegun,
  hookDone,
  hooksDone,
  mayGoOn,
  modelSucceeded as stoodNow,
} from '../../../src/machine/steps.ts'
import { changesNothing, exceeds } from '../../../src/vocabulary/effect.ts'
import type { Invocation } from '../../../src/vocabulary/saved-run.ts'
import { checkpointOf } from './checkpoint.ts'
import { contentOf, find, madeBy } from './find.ts'
import {
  type About,
  type Asked,
  aboutOf,
  attemptsOf,
  type Came,
  type Fact,
  isLeft,
  isStopping,
  type Kind,
  known,
  knownOf,
  type Outcome,
  pause,
  type State,
  stopAt,
  type Wanted,
} from './state.ts'

/** What happens to an execution at once: it continues, it waits, or it returns to the wrap that asked for it. */
export type Goes = 'goes' | 'waits' | 'stop' | 'circle' | 'aborted'

/**
 * The consequence of a fact: the call that it concerns, what happens to its execution, or the outcome that the execution had before a
 * resume.
 */
export interface Decision {
  readonly number?: number
  readonly invocation?: Invocation
  readonly known?: Outcome
  readonly goes?: Goes
}

export function decide(s: State, fact: Fact): Decision {
  if (s.phase === 'over' && !isBeyond(s, fact)) return {}
  switch (fact.is) {
    case 'attempt':
      attemptBegun(s.steps)
      return {}
    case 'attempt failed':
      if (s.calls.response.attempts.has(fact.attempt)) attemptEnded(s.calls, fact.attempt, 0, true)
      return {}
    case 'requested early':
      return numbered(requestedEarly(s, fact))
    case 'made':
      return numbered(madeInside(s, fact))
    case 'shown': {
      const number = madeBy(s, undefined, fact.id)
      if (number === undefined || callOf(s.calls, number).fate !== 'provisional') return {}
      if (fact.isSame) callShown(s.calls, number)
      else callDiscarded(s.calls, number, 'arguments_changed')
      return {}
    }
    case 'stood':
      stood(s, fact.calls, fact.kinds)
      return {}
    case 'model threw':
      s.model = 'out'
      return {}
    case 'hook done':
    case 'hook rejects':
      hookIsDone(s, fact.is === 'hook rejects')
      return {}
    case 'hook asks':
      s.hook = 'asks'
      pause(s)
      return {}
    case 'wanted':
      return asksForOne(s, fact.number, fact.input)
    case 'works':
      return beginsWork(s, fact.number, fact.input)
    case 'judged':
      return { goes: judged(s, fact) }
    case 'ended':
      ended(s, fact)
      return {}
    case 'stopped':
      stopped(s, fact)
      return {}
    case 'threw':
      decideCall(s.calls, movedTo(callOf(s.calls, fact.number), fact.invocation, 'threw'))
      return {}
    case 'left':
      aboutOf(s, fact.number).left.push(fact.invocation)
      return {}
    case 'waits':
      aboutOf(s, fact.number).waits = true
      return {}
    case 'asks':
      decideCall(s.calls, asksQuestion(callOf(s.calls, fact.number), ++s.questions))
      return {}
    case 'came':
      came(s, fact.number, fact.to, fact)
      return {}
    case 'grace over':
      decideCall(s.calls, marked(callOf(s.calls, fact.number), 'isAbandoned'))
      came(s, fact.number, abandonedAs(s, fact.number), { text: 'abandoned', ok: false })
      return {}
    case 'undone':
      decideCall(s.calls, undoing(callOf(s.calls, fact.number), 'ended'))
      return {}
    case 'saved':
      s.stored = s.saving ?? s.stored
      s.saving = null
      return {}
    case 'save failed':
      s.saving = null
      for (const { number, about } of knownOf(s)) {
        about.storing = about.storing.map((one) => ({ ...one, version: UNSTORED }))
        // A resume undoes it.
        if (about.undoVersion === 0) continue
        about.undoVersion = UNSTORED
        decideCall(s.calls, undoing(callOf(s.calls, number), 'ended'))
      }
      return {}
    case 'cancel call': {
      const { call } = known(s, fact.number)
      if (!hasSettled(call) && call.fate !== 'discarded') callStopped(s.calls, fact.number, 'cancelled')
      return {}
    }
    case 'cancel': {
      const { stop } = s.halt
      s.halt = decideHalt(s.halt, { is: 'cancel', at: fact.at })
      if (s.halt.stop === stop) return {}
      s.aside ??= checkpointOf(s, true)
      stopCalls(s, 'cancelled', false)
      return {}
    }
    case 'abort':
      lose(s, 'abort')
      return {}
  }
}

/** The version of what could not be stored. */
export const UNSTORED = -1

const numbered = (number: number | undefined): Decision => (number === undefined ? {} : { number })

function requestedEarly(
  s: State,
  { attempt, call, kind, ceiling }: Extract<Fact, { is: 'requested early' }>,
): number | undefined {
  idAnnounced(s.calls, call.id, attempt)
  const found = find(s, call)
  const isMade = found !== undefined && callOf(s.calls, found).course !== 'asleep'
  if (!isMade && !mayStart(s.halt)) return undefined
  if (found !== undefined) return begunAgain(s, found)
  return mayStartFor(s.calls, attempt) ? added(s, call, kind, { attempt, ceiling }) : undefined
}

/** A call that the function of another call makes. */
function madeInside(s: State, { maker, call, kind }: Extract<Fact, { is: 'made' }>): number | undefined {
  const { call: above, about } = known(s, maker)
  if (isStopping(s) || above.aborted || above.fate === 'discarded') return undefined
  const same = madeBy(s, maker, call.id)
  if (same === undefined) return added(s, call, kind, { maker, ceiling: about.ceiling })
  const made = known(s, same)
  return made.call.fate === 'discarded' || made.about.input !== call.input ? undefined : begunAgain(s, same)
}

/** Whether a fact concerns work that goes on after its run. */
function isBeyond(s: State, fact: Fact): boolean {
  return 'number' in fact && callOf(s.calls, fact.number).work?.isHandedOver === true
}

/** The innermost wrap of a background call. Its work begins once, however often the wraps request it. */
function beginsWork(s: State, number: number, input: string): Decision {
  const { call, about } = known(s, number)
  const { key, name, kind } = about
  const invocation = { ...(input !== about.input && { input }), n: 0 }
  const stop = stopOf(s, number, invocation)
  if (stop) return { invocation, goes: stop }
  const isBegun = [...s.about.values()].some((one) => one.key === workKey(key))
  if (!isBegun && kind.atEnd) {
    const work = callMade(s.calls, {
      ...NEW_CALL,
      id: workKey(call.id),
      tool: kind.tool,
      work: { atEnd: kind.atEnd },
      step: call.step,
    })
    s.about.set(work, newAbout(workKey(key), { id: workKey(call.id), name, input: about.input }, kind, null))
  }
  return { invocation, known: { invocation, text: 'running', ok: true } }
}

const workKey = (key: string) => `${key} work`

const NEW_CALL = {
  startedEarly: false,
  isRequested: false,
  requestedBy: [],
  course: 'begun',
  fate: 'committed',
  requestedAt: 0,
  executions: [],
  questions: [],
  attempts: 0,
  told: 'open',
} as const

interface Begins {
  readonly attempt?: number
  readonly maker?: number
  readonly ceiling?: About['ceiling']
}

function added(s: State, call: Asked, kind: Kind, { attempt, maker, ceiling = null }: Begins): number {
  const isRequested = attempt !== undefined
  const isProvisional =
    maker === undefined ? isRequested && s.calls.response.isOpen : callOf(s.calls, maker).fate === 'provisional'
  const number = callMade(s.calls, {
    ...NEW_CALL,
    id: call.id,
    tool: kind.tool,
    ...(maker !== undefined && { maker }),
    step: s.steps.begun,
    isRequested,
    startedEarly: isProvisional,
    requestedBy: isRequested ? [attempt] : [],
    fate: isProvisional ? 'provisional' : 'committed',
    ...(ceiling && { ceiling }),
  })
  s.about.set(number, newAbout(`${call.name}${call.input}.${++s.keys}`, call, kind, ceiling))
  if (isRequested) decideCall(s.calls, withContent(callOf(s.calls, number), contentOf(s, s.steps.begun, call)))
  return number
}

function newAbout(key: string, { id, name, input }: Asked, kind: Kind, ceiling: About['ceiling']): About {
  return {
    key,
    name,
    input,
    kind,
    ids: [id],
    ceiling,
    hasBegun: false,
    waits: false,
    held: [],
    left: [],
    storing: [],
    answers: [],
    outcomes: [],
    before: [],
    result: null,
    isReused: false,
    undoVersion: 0,
  }
}

/** A call of a checkpoint begins when it is requested. If it already has a result, its inner calls that never started begin instead. */
export function begunAgain(s: State, number: number): number {
  const { call, about } = known(s, number)
  if (about.isReused) for (const child of call.children) if (!wasEntered(callOf(s.calls, child))) begunAgain(s, child)
  decideCall(s.calls, begun(callOf(s.calls, number)))
  return number
}

function stood(s: State, calls: readonly Asked[], kinds: readonly Kind[]): void {
  s.model = 'out'
  if (isStopping(s)) return
  s.history.push({ role: 'assistant', calls, kinds })
  const attempts = attemptsOf(s)
  for (const { id } of calls) idAnnounced(s.calls, id, attempts)
  attemptEnded(s.calls, attempts, 0, false)
  stoodNow(s.steps, attempts)
}

/** A hook is done. `rejects`: it has rejected the answer. */
function hookIsDone(s: State, rejects: boolean): void {
  s.hook = 'none'
  s.hookAnswers = []
  if (isStopping(s)) return
  hookDone(s.steps, s.hookName)
  if (rejects) {
    answerRejected(s.steps)
    s.history.push({ role: 'user', text: 'rejected' })
  }
  if (s.steps.current?.phase !== 'after-model') return
  hooksDone(s.steps)
  toCalls(s)
}

/** The response is accepted, and the hook has passed it: its calls are made, one after another, and nothing else. */
export function toCalls(s: State): void {
  const answer = s.history.findLast(({ role }) => role === 'assistant')
  const { calls, kinds } = answer?.role === 'assistant' ? answer : { calls: [], kinds: [] }
  if (calls.length > 0 && !mayGoOn(s.steps)) {
    refuse(s, calls)
    return
  }
  if (calls.length > 0) stopAt(s, 'after-model')
  if (s.halt.stop) return
  s.wanted = []
  for (const [index, call] of calls.entries()) {
    const kind = kinds[index]
    if (!kind) throw new Error('each call has a kind')
    const coming = s.wanted.flatMap((one) => (one.number === null ? [one.kind.tool] : []))
    s.wanted.push({ call, kind, number: find(s, call, coming) ?? null })
  }
  responseEnded(s.calls)
  restDiscarded(s.calls, 'call_withdrawn', ({ number }) => s.wanted.some((one) => one.number === number))
  const ended = s.wanted.findIndex(({ number }) => number !== null && callOf(s.calls, number).course === 'none')
  // What a run without early calls would enter before that call ends it.
  s.most = ended < 0 ? calls.length : Math.max(s.calls.limit, ended + 1)
  s.committed = 0
}

/** No step is left that could read their results. */
function refuse(s: State, calls: readonly Asked[]): void {
  responseEnded(s.calls)
  restDiscarded(s.calls, 'call_withdrawn', () => false)
  for (const { id } of calls) s.history.push({ role: 'tool', id, text: 'refused' })
  answerOffered(s.steps, { isOffered: false, direct: false })
}

/** Makes the next call of the response, unless it is already made. */
export function madeNow(s: State, { call, kind }: Wanted): number {
  return added(s, call, kind, { attempt: s.calls.response.announcedBy.get(call.id) ?? 0 })
}

/** A wrap asks for an execution. If that had an outcome before a resume, it has the same one again. */
function asksForOne(s: State, number: number, input: string): Decision {
  const { call, about } = known(s, number)
  const invocation = nextInvocation(call, input === about.input ? undefined : input)
  decideCall(s.calls, executionWanted(callOf(s.calls, number), invocation))
  const again = about.before[knownFor(call, invocation)?.place ?? -1]
  if (again && decideCall(s.calls, recalled(callOf(s.calls, number), invocation))) {
    about.outcomes.push({ ...again, invocation })
    return { invocation, known: again }
  }
  if (!stopOf(s, number, invocation) && takesOverSlot(s.calls, number, invocation)) {
    decideCall(s.calls, attemptCounted(callOf(s.calls, number), invocation, 1))
    return { invocation, goes: 'goes' }
  }
  return { invocation, goes: arrives(s, number, invocation) }
}

/** An execution reaches one of its two gates. */
export function arrives(s: State, number: number, invocation: Invocation): Goes {
  const stop = stopOf(s, number, invocation)
  if (stop) return stop
  const waiting = arrived(number, invocation)
  const due = dueOf(s.calls, waiting)
  if (!due) {
    beginsToWait(s.calls, waiting)
    return 'waits'
  }
  if (due.is !== 'turn') return due.is
  takesTurn(s.calls, waiting)
  passed(s, number, invocation)
  return 'goes'
}

/** It has its turn. */
export function passed(s: State, number: number, invocation: Invocation): void {
  const { call, about } = known(s, number)
  const does = executionOf(call, invocation)?.judgement
  if (!does) decideCall(s.calls, attemptCounted(callOf(s.calls, number), invocation, 1))
  // A read may be made again, so its beginning need not be stored.
  else if (s.hasStore && !changesNothing(does.effect)) about.storing.push({ invocation, version: ++s.version })
}

/** What stops an execution whose function is not entered. */
export function stopOf(s: State, number: number, invocation: Invocation): 'stop' | 'aborted' | undefined {
  const { call, about } = known(s, number)
  if (call.aborted || isStopping(s) || isLeft(about, invocation)) return 'aborted'
  // An inner call is part of its maker's work, which has started.
  return call.maker === undefined && !mayStart(s.halt) ? 'stop' : undefined
}

/** An execution that was not entered is over. */
export function dropped(s: State, number: number, invocation: Invocation, isStop: boolean): void {
  const { call, about } = known(s, number)
  const stage = executionOf(call, invocation)?.stage
  about.storing = about.storing.filter((one) => !isSameExecution(one.invocation, invocation))
  for (const waiting of s.calls.waiting)
    if (waiting.call === number && isSameExecution(waiting.invocation, invocation)) stopsWaiting(s.calls, waiting)
  // An execution that has not had its slot has begun nothing.
  if (stage === 'wanted') return
  decideCall(s.calls, movedTo(callOf(s.calls, number), invocation, 'left'))
  if (isStop) decideCall(s.calls, attemptCounted(callOf(s.calls, number), invocation, -1))
  callChanged(s.calls, number)
}

/** It would wait for a call that waits for its own maker: it fails. */
export function circles(s: State, number: number, invocation: Invocation): void {
  dropped(s, number, invocation, false)
  outcome(s, number, { invocation, ...CIRCLE })
}

export const CIRCLE = { text: 'circle', ok: false }

/** Its input is checked. */
function judged(s: State, { number, invocation, effect, keys }: Extract<Fact, { is: 'judged' }>): Goes {
  const { call, about } = known(s, number)
  if (call.aborted || isLeft(about, invocation)) {
    dropped(s, number, invocation, false)
    return 'aborted'
  }
  const mayBeEarly = about.ceiling === null || !exceeds(effect, about.ceiling)
  decideCall(s.calls, movedTo(callOf(s.calls, number), invocation, 'judged', { effect, keys, mayBeEarly }))
  // It works inside the slot of its maker, so that no line holds it back.
  if (call.maker === undefined || call.fate !== 'provisional' || mayBeEarly) return begins(s, number, invocation)
  about.held.push(invocation)
  return 'waits'
}

/** Only its turn is missing. */
export function begins(s: State, number: number, invocation: Invocation): Goes {
  const stop = stopOf(s, number, invocation)
  if (stop) {
    dropped(s, number, invocation, stop === 'stop')
    return stop
  }
  callChanged(s.calls, number)
  const went = arrives(s, number, invocation)
  if (went === 'stop' || went === 'aborted') dropped(s, number, invocation, went === 'stop')
  if (went === 'circle') circles(s, number, invocation)
  return went
}

/** Its function returned or threw. */
function ended(s: State, { number, invocation, text, ok }: Extract<Fact, { is: 'ended' }>): void {
  const { call, about } = known(s, number)
  const isAlone = !call.aborted && isLeft(about, invocation)
  // The pause of its run has reached it: its later result is dropped.
  if (!call.isParked) {
    if (ok && call.tool?.isReversible && !hasAbandoned(call, invocation))
      decideCall(s.calls, marked(callOf(s.calls, number), 'isDone'))
    if (isAlone && !ok) outcome(s, number, { invocation, text: 'cut off', ok })
    else if (ok || !call.aborted) outcome(s, number, { invocation, text, ok })
  }
  free(s, number, invocation)
}

/** It threw an error that ends the run until a resume: its own question, or a stop that it has met. */
function stopped(s: State, { number, invocation, asks: isOwn }: Extract<Fact, { is: 'stopped' }>): void {
  const call = callOf(s.calls, number)
  if (isOwn && !call.isParked) {
    decideCall(s.calls, asksQuestion(callOf(s.calls, number), ++s.questions))
    decideCall(s.calls, addsQuestion(callOf(s.calls, number), s.questions))
  }
  if (!call.isParked && (isOwn || asksInside(s, call)))
    decideCall(s.calls, executionAsked(callOf(s.calls, number), invocation))
  free(s, number, invocation)
}

/** An inner call asks. */
function asksInside(s: State, { children }: CallState): boolean {
  return children.some((child) => {
    const call = callOf(s.calls, child)
    return call.ownQuestion !== undefined || asksInside(s, call)
  })
}

function outcome(s: State, number: number, one: Outcome): void {
  if (decideCall(s.calls, movedTo(callOf(s.calls, number), one.invocation, 'ended')))
    aboutOf(s, number).outcomes.push(one)
}

function free(s: State, number: number, invocation: Invocation): void {
  decideCall(s.calls, executionOver(callOf(s.calls, number), invocation))
  callChanged(s.calls, number)
}

/** The outcome of a call that is still running after its grace time. */
function abandonedAs(s: State, number: number): Came {
  if (callOf(s.calls, number).aborted === 'cancelled') return 'error'
  return isLost(s.halt) ? 'throw' : 'stop'
}

/** All its wraps have ended, and nothing of it is running. */
function came(s: State, number: number, to: Came, result: { readonly text: string; readonly ok: boolean }): void {
  const { call, about } = known(s, number)
  const isCancelled = call.aborted === 'cancelled'
  const end = endOf(call, call.work ? workCame(call, to) : wrapsCame(call, to))
  const isAwaited = call.work !== undefined || s.wanted.some((one) => one.number === number)
  if (end === 'none' && isAwaited && to === 'throw') lose(s, 'failure')
  about.waits = false
  if (end === 'result')
    about.result = isCancelled ? { text: 'cancelled', ok: false } : { text: result.text, ok: result.ok }
  decideCall(s.calls, settled(callOf(s.calls, number), end))
  callClosed(s.calls, number)
  // Its maker meets the stop of the run.
  if (end === 'open' && call.isParked && call.maker !== undefined)
    decideCall(s.calls, parked(callOf(s.calls, call.maker)))
}

function wrapsCame({ aborted }: CallState, to: Came): WrapsOutcome {
  // A cancelled call no longer asks, and stops no run.
  const isOver = to === 'stop' && aborted === 'cancelled'
  if (!isOver && to !== 'error') return to
  return aborted && aborted !== 'cancelled' ? 'cut off' : 'result'
}

/**
 * The work of a background call has no wraps: what it throws is its result. Exceptions: a question for which its run waits stops the run,
 * and the run fails if the beginning of the work cannot be stored.
 */
function workCame({ work, aborted, ownQuestion }: CallState, to: Came): WrapsOutcome {
  if (to === 'result') return to
  if (aborted) return aborted === 'cancelled' ? 'result' : 'cut off'
  if (to === 'throw' && !work?.isHandedOver) return 'throw'
  if (to !== 'stop') return 'result'
  // It had not begun when its run was stopped.
  if (!ownQuestion) return 'cut off'
  return work?.isHandedOver ? 'result' : 'stop'
}

/** The run is aborted or fails: no resume continues it. */
export function lose(s: State, is: 'abort' | 'failure'): void {
  if (isLost(s.halt)) return
  s.halt = decideHalt(s.halt, { is })
  s.aside = null
  stopCalls(s, undefined, false)
  // No resume decides on them any more.
  for (const { number } of knownOf(s)) decideCall(s.calls, kept(callOf(s.calls, number), undefined))
}

/** `how`: a resume continues from there. */
export function stopCalls(s: State, how: 'interrupted' | 'cancelled' | undefined, keepsResults: boolean): void {
  responseEnded(s.calls)
  runStopped(s.calls, how, keepsResults, how === undefined)
}
