/** Makes the checkpoint of a run: what the machine keeps of it, with the values of the interpreter. */

import type { CallState } from '../../../src/machine/call.ts'
import { callOf, waitsForResume } from '../../../src/machine/calls.ts'
import { isSaved, savedCall } from '../../../src/machine/saved-state.ts'
import { type About, aboutOf, type Checkpoint, knownOf, type Outcome, type SavedCall, type State } from './state.ts'

/** `isLast`: its process ends normally. */
export function checkpointOf(s: State, isLast: boolean): Checkpoint {
  const { steps, hookName, hookAnswers, inbox, keys, questions, history, unknown } = s
  const { begun, current } = steps
  const all = [...s.calls.all.values()]
  const asking = all.filter((call) => call.ownQuestion && waitsForResume(s.calls, call))
  return {
    steps: { begun, ...(current && { current }) },
    calls: [...all.filter(({ work }) => !work), ...all.filter(({ work }) => work)]
      .filter((call) => isKept(s, call, isLast))
      .map((call) => callIn(s, call, isLast)),
    interrupts: [...asking.map((call) => pathOf(s, call)), ...(s.hook === 'asks' ? [['hook']] : [])],
    values: {
      hookName,
      hookAnswers: [...hookAnswers],
      inbox: [...inbox],
      keys,
      questions,
      history: [...history],
      unknown: [...unknown],
    },
  }
}

/** A call that is being undone stays as it was stored. */
function isKept(s: State, call: CallState, isLast: boolean): boolean {
  const isUndone = ({ undo, children }: CallState): boolean =>
    undo === 'begun' || children.some((child) => isUndone(callOf(s.calls, child)))
  return isSaved(s.calls, call, s.steps.current?.number, isLast) || isUndone(call)
}

function callIn(s: State, call: CallState, isLast: boolean): SavedCall {
  const about = aboutOf(s, call.number)
  const { key, name, input, kind, ids, ceiling, answers, result } = about
  return {
    ...savedCall(call, isLast, []),
    key,
    ...(call.maker !== undefined && { maker: aboutOf(s, call.maker).key }),
    isBeingUndone: call.undo === 'begun',
    ...(call.isDone && !call.undo && { done: true }),
    outcomes: result ? [] : outcomesOf(about, call),
    about: { key, name, input, kind, ids: [...ids], ceiling, answers: [...answers], result },
  }
}

/** The outcomes of its executions, in all processes. */
function outcomesOf({ outcomes, before }: About, { knownOutcomes = [] }: CallState): readonly Outcome[] {
  return [...outcomes, ...knownOutcomes.flatMap(({ place }) => before[place] ?? [])]
}

function pathOf(s: State, { number, maker }: CallState): readonly string[] {
  const { key } = aboutOf(s, number)
  return maker === undefined ? [key] : [...pathOf(s, callOf(s.calls, maker)), key]
}

/** Keys of the calls in a checkpoint that were discarded by then. */
export function discardedIn(s: State, { calls }: Checkpoint): readonly string[] {
  const keys = calls.flatMap(({ key, isBeingUndone }) => (isBeingUndone ? [] : [key]))
  // A resume decides on what a run discards as it stops.
  const gone = knownOf(s).filter(({ call }) => call.fate === 'discarded' && call.cause !== 'run_aborted')
  return gone.flatMap(({ about: { key } }) => (keys.includes(key) ? [key] : []))
}
