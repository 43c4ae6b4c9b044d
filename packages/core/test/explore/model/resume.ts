/** Makes the state of a resumed run from a checkpoint. The machine decides how its calls and steps continue. */

import type { CallState } from '../../../src/machine/call.ts'
import { callOf } from '../../../src/machine/calls.ts'
import { alsoRequestedBy, asksQuestion, begun, marked, settled } from '../../../src/machine/decide-call.ts'
import {
  callClosed,
  callDiscarded,
  callMade,
  decideCall,
  idAnnounced,
  modelCalled,
} from '../../../src/machine/decide-calls.ts'
import { goesOn, loadedCall, stepsLoaded } from '../../../src/machine/saved-state.ts'
import { noSteps } from '../../../src/machine/steps.ts'
import { toCalls } from './decide.ts'
import { contentOf, madeBy } from './find.ts'
import { enters } from './loop.ts'
import { aboutOf, attemptsOf, begin, type Checkpoint, pause, type SavedCall, type State } from './state.ts'

type Answers = Readonly<Record<string, string>>

/** `before`: a run of the same agent. `answers`: by key of the call that asks; `hook` for the hook. */
export function resume(from: Checkpoint, before: State, answers: Answers): State {
  const { limit, innerLimit } = before.calls
  const { gate, hasWrap, hasStore } = before
  const { hookAnswers, inbox, history, unknown, ...values } = from.values
  const s = begin(limit, innerLimit, hasStore, {
    ...values,
    hookAnswers: [...hookAnswers],
    inbox: [...inbox],
    history: [...history],
    unknown: [...unknown],
    gate,
    hasWrap,
    isWrapOut: !hasWrap,
    model: from.steps.current?.phase === 'model' ? 'due' : 'out',
    steps: { ...noSteps(), limit: before.steps.limit, waiting: inbox.length },
  })
  stepsLoaded(s.steps, from.steps)
  enters(s)
  for (const saved of from.calls) load(s, saved)
  for (const saved of from.calls) {
    const number = numberOf(s, saved.key)
    if (number === undefined) continue
    if (saved.about.result) settle(s, number, 'result')
    else goesOnAs(s, number, from, answers)
  }
  for (const { key, isBeingUndone } of from.calls) {
    const number = numberOf(s, key)
    if (!isBeingUndone || number === undefined) continue
    // It may have been undone: it is not undone again, nothing joins it, and the result reports it.
    s.unknown.push(`undo ${key}`)
    callDiscarded(s.calls, outermost(s, callOf(s.calls, number)), 'run_aborted')
  }
  for (const call of s.calls.all.values()) if (call.work) decideCall(s.calls, begun(call))
  hookGoesOn(s, from, answers)
  const { phase } = s.steps.current ?? {}
  if (phase === 'after-model' || phase === 'calls') reopened(s)
  return s
}

function load(s: State, { about, key: _, maker, isBeingUndone, ...saved }: SavedCall): void {
  const { kind, ids, answers, result } = about
  const number = callMade(s.calls, {
    ...loadedCall(saved, kind.atEnd ?? 'wait'),
    tool: kind.tool,
    maker: numberOf(s, maker),
    content: saved.isRequested ? contentOf(s, saved.step, about) : undefined,
    requestedAt: 0,
    ...(isBeingUndone && { undo: 'before' }),
  })
  s.about.set(number, {
    ...about,
    ids: [...ids],
    answers: [...answers],
    isReused: result !== null,
    hasBegun: false,
    waits: false,
    held: [],
    left: [],
    storing: [],
    outcomes: [],
    before: saved.outcomes,
    undoVersion: 0,
  })
}

function numberOf(s: State, key: string | undefined): number | undefined {
  return [...s.about].find(([, about]) => about.key === key)?.[0]
}

function outermost(s: State, { number, maker }: CallState): number {
  return maker === undefined ? number : outermost(s, callOf(s.calls, maker))
}

function settle(s: State, number: number, end: 'result' | 'open'): void {
  decideCall(s.calls, settled(callOf(s.calls, number), end))
  callClosed(s.calls, number)
}

/** A call that has not settled is made when it is requested, stays open for an answer, or may have happened. */
function goesOnAs(s: State, number: number, { interrupts }: Checkpoint, answers: Answers): void {
  const about = aboutOf(s, number)
  const asking = interrupts.filter((path) => path.includes(about.key)).map((path) => path.at(-1) ?? '')
  const answered = asking.filter((key) => answers[key] !== undefined)
  if (answered.includes(about.key)) about.answers.push(answers[about.key] ?? '')
  switch (goesOn(callOf(s.calls, number), asking.length > 0 && answered.length === 0, ['read'])) {
    case 'open':
      if (asking.includes(about.key)) decideCall(s.calls, asksQuestion(callOf(s.calls, number), ++s.questions))
      settle(s, number, 'open')
      break
    case 'again':
      decideCall(s.calls, marked(callOf(s.calls, number), 'isRerun'))
      break
    case 'unknown':
      s.unknown.push(about.key)
      if (callOf(s.calls, number).fate !== 'discarded') {
        about.result = { text: 'may have happened', ok: false }
        settle(s, number, 'result')
      }
      decideCall(s.calls, marked(callOf(s.calls, number), 'isUnknown'))
  }
}

/** A resumed step already has its response. Its calls belong to the response: an equal call of it is another one. */
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

/** A hook that was running, or that has its answer, is called again. */
function hookGoesOn(s: State, { interrupts }: Checkpoint, answers: Answers): void {
  if (!interrupts.some(([asker]) => asker === 'hook')) return
  if (answers.hook !== undefined) s.hookAnswers.push(answers.hook)
  else {
    s.hook = 'asks'
    pause(s)
  }
}
