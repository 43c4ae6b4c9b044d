/** From a checkpoint to the state of a run that goes on from it: what was cut off is decided here, and nowhere else. */

import { AT_WORK, type Call, type State } from './state.ts'

/** `answers`: by key of the call that asks; `hook` for the hook. */
export function resume(checkpoint: State, answers: Readonly<Record<string, string>>): State {
  const s = structuredClone(checkpoint)
  Object.assign(s, { live: [], saving: null, stored: s.version, halt: AT_WORK, aside: null })
  if (s.phase === 'model') s.model = 'due'
  if (s.phase === 'after-model') s.hook = 'due'
  if (answers.hook !== undefined) s.hookAnswers.push(answers.hook)
  for (const call of s.calls) if (call.undo === 'storing' || call.undo === 'begun') tellUndo(s, call)
  // Calls come before the calls that they make: what one of those is answered decides whether its maker begins again.
  for (const call of s.calls.toReversed()) resumeCall(s, call, answers)
  return s
}

/** It may have been undone: it is not undone again, and whoever has the result is told. */
function tellUndo(s: State, call: Call): void {
  call.undo = 'unknown'
  s.unknown.push(`undo ${call.id}`)
}

function resumeCall(s: State, call: Call, answers: Readonly<Record<string, string>>): void {
  const answer = answers[call.key]
  const inFlight = call.executions.filter(
    ({ stage }) => stage === 'entered' || stage === 'storing' || stage === 'cut off',
  )
  Object.assign(call, { waits: false, isRefused: false, executions: [] })
  if (call.course === 'settled') return
  if (call.fate === 'discarded') {
    call.course = 'settled'
    return
  }
  call.aborted = false
  if (call.course === 'open' && call.question !== null) {
    // What a wrap that has asked had left at work is not executed again.
    for (const { invocation, does } of inFlight) {
      const { n, input = '' } = invocation
      if (does?.effect !== 'read') call.outcomes.push({ n, input, text: 'cut off', ok: false })
    }
    if (answer === undefined) return
    call.answers.push(answer)
    call.question = null
    wake(call)
    return
  }
  const asksInside = s.calls.some((one) => one.maker === call.key && one.course === 'open')
  if (call.course === 'open' && asksInside) return
  const isAnsweredInside = s.calls.some((one) => one.maker === call.key && answers[one.key] !== undefined)
  const mayHaveHappened = inFlight.some(({ does }) => does?.effect !== 'read') && !isAnsweredInside
  if (mayHaveHappened) {
    s.unknown.push(call.id)
    Object.assign(call, { course: 'settled', result: { text: 'may have happened', ok: false } })
  } else wake(call)
}

/** A call that is committed begins again. One that is not sleeps until it is asked for. */
function wake(call: Call): void {
  if (call.maker !== null) call.course = 'asleep'
  else call.course = call.fate === 'committed' ? 'due' : 'asleep'
}
