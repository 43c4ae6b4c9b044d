/** From a checkpoint to the state of a run that goes on from it: what was cut off is decided here, and nowhere else. */

import { attemptsToSave, type CallState, effectOf } from '../../../src/machine/call.ts'
import { type Calls, callOf, noCalls, waitsForResume } from '../../../src/machine/calls.ts'
import {
  alsoRequestedBy,
  asksQuestion,
  discarded,
  marked,
  settled,
  withContent,
} from '../../../src/machine/decide-call.ts'
import { callClosed, callMade, decideCall, idAnnounced, modelCalled } from '../../../src/machine/decide-calls.ts'
import { changesNothing } from '../../../src/vocabulary/effect.ts'
import { toCalls } from './decide.ts'
import { contentOf, madeBy } from './find.ts'
import { enters } from './loop.ts'
import { type About, AT_WORK, aboutOf, attemptsOf, copyOf, knownOf, type Outcome, pause, type State } from './state.ts'

/** `answers`: by key of the call that asks; `hook` for the hook. `isLast`: it was the last of its process, which has ended by itself. */
export function resume(from: State, answers: Readonly<Record<string, string>>, isLast: boolean): State {
  const copy = copyOf(from)
  const s: State = {
    ...copy,
    calls: { ...noCalls(), limit: copy.calls.limit, innerLimit: copy.calls.innerLimit },
    about: new Map(),
    stored: copy.version,
    saving: null,
    steps: { ...copy.steps, loop: 'not begun', isClosed: false },
    loops: 0,
    isJudging: false,
    isWrapOut: !copy.hasWrap,
    halt: AT_WORK,
    aside: null,
    handles: [],
    wanted: [],
    committed: 0,
    most: 0,
  }
  const numbers = new Map<number, number>()
  enters(s)
  for (const { number, call, about } of knownOf(copy))
    numbers.set(number, restored(s.calls, call, about, numbers.get(call.maker ?? -1), isLast))
  for (const { number, call, about } of knownOf(copy)) {
    const now = numbers.get(number)
    if (now !== undefined) s.about.set(now, restoredAbout(s, call, about))
  }
  for (const { number, call } of knownOf(copy)) {
    const now = numbers.get(number)
    if (now === undefined) continue
    if (call.isRequested)
      decideCall(s.calls, withContent(callOf(s.calls, now), contentOf(s, call.step, aboutOf(s, now))))
    // Nobody joins what may have been undone.
    if (call.fate === 'discarded') decideCall(s.calls, discarded(callOf(s.calls, now), 'run_aborted'))
    if (aboutOf(s, now).result) settle(s.calls, now, 'result')
    else if (call.fate === 'discarded') settle(s.calls, now, 'none')
    else goesOn(s, now, questionsIn(copy, call), answers)
  }
  hookGoesOn(s, answers)
  const { phase } = s.steps.current ?? {}
  if (phase === 'model') s.model = 'due'
  else if (phase === 'after-model' || phase === 'calls') reopened(s)
  return s
}

function restored(calls: Calls, call: CallState, about: About, maker: number | undefined, isLast: boolean): number {
  const { id, tool, work, step, isRequested, fate, undo, isDone = false } = call
  const { attempts, effect } = about.result ? { ...call, effect: effectOf(call) } : attemptsToSave(call, isLast)
  // What asks starts from its top when it is answered.
  const mayHaveHappened = call.isCutOff || (call.course !== 'open' && !call.ownQuestion)
  const isProvisional = fate !== 'committed'
  return callMade(calls, {
    id,
    tool,
    ...(maker !== undefined && { maker }),
    step,
    isRequested: isRequested,
    startedEarly: isProvisional,
    requestedBy: [],
    ...(work && { work }),
    // Nobody asks for it: it goes on by itself.
    course: work ? 'begun' : 'asleep',
    fate: isProvisional ? 'provisional' : 'committed',
    requestedAt: 0,
    executions: [],
    questions: [],
    attempts,
    effectBefore: mayHaveHappened ? effect : undefined,
    hadOutcome: about.outcomes.length > 0,
    knownOutcomes: outcomesOf(about, call).map(({ invocation }, place) => ({ invocation, place })),
    isDone,
    ...(undo && undo !== 'theirs' && { undo: 'before' as const }),
    told: call.told === 'ended' ? 'shown' : 'open',
  })
}

/** What its executions have come to, in all processes. */
function outcomesOf({ outcomes, before }: About, { knownOutcomes = [] }: CallState): readonly Outcome[] {
  return [...outcomes, ...knownOutcomes.flatMap(({ place }) => before[place] ?? [])]
}

function restoredAbout(s: State, call: CallState, about: About): About {
  // It may have been undone: it is not undone again, and whoever has the result is told.
  if (call.undo === 'begun') s.unknown.push(`undo ${about.key}`)
  return {
    ...about,
    isReused: about.result !== null,
    hasBegun: false,
    waits: false,
    held: [],
    left: [],
    storing: [],
    outcomes: [],
    before: outcomesOf(about, call),
    undoVersion: 0,
  }
}

function settle(calls: Calls, number: number, end: 'result' | 'open' | 'none'): void {
  decideCall(calls, settled(callOf(calls, number), end))
  callClosed(calls, number)
}

/** Keys of the calls that ask: this one, and those that it makes. */
function questionsIn(s: State, call: CallState): readonly string[] {
  const inner = call.children.flatMap((child) => questionsIn(s, callOf(s.calls, child)))
  return call.ownQuestion && waitsForResume(s.calls, call) ? [aboutOf(s, call.number).key, ...inner] : inner
}

/** A call that has not settled is made when it is asked for, stays open for an answer, or may have happened. */
function goesOn(
  s: State,
  number: number,
  questions: readonly string[],
  answers: Readonly<Record<string, string>>,
): void {
  const about = aboutOf(s, number)
  const effect = effectOf(callOf(s.calls, number))
  const own = answers[about.key]
  if (questions.length > 0 && questions.every((key) => answers[key] === undefined)) {
    if (questions.includes(about.key)) decideCall(s.calls, asksQuestion(callOf(s.calls, number), ++s.questions))
    settle(s.calls, number, 'open')
    return
  }
  if (own !== undefined) about.answers.push(own)
  if (changesNothing(effect)) decideCall(s.calls, marked(callOf(s.calls, number), 'isRerun'))
  else if (effect) {
    s.unknown.push(about.key)
    about.result = { text: 'may have happened', ok: false }
    settle(s.calls, number, 'result')
  }
}

/** A resumed step has its response already. What that asks for is the response's own: an equal call of it is another one. */
function reopened(s: State): void {
  const answer = s.history.findLast(({ role }) => role === 'assistant')
  modelCalled(s.calls)
  for (const { id } of answer?.role === 'assistant' ? answer.calls : []) {
    idAnnounced(s.calls, id, attemptsOf(s))
    const made = madeBy(s, undefined, id)
    if (made !== undefined) decideCall(s.calls, alsoRequestedBy(callOf(s.calls, made), attemptsOf(s)))
  }
  if (s.steps.current?.phase === 'calls') toCalls(s)
}

/** A hook that was at work, or that has its answer, is asked again. */
function hookGoesOn(s: State, answers: Readonly<Record<string, string>>): void {
  if (s.hook === 'asks' && answers.hook === undefined) pause(s)
  else {
    if (s.hook === 'asks' && answers.hook !== undefined) s.hookAnswers.push(answers.hook)
    s.hook = 'none'
  }
}
