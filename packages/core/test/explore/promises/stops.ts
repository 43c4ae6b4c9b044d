/** What a cancel, an abort, a question or a failure stops. */

import { atEndOf, effectOf, isInner, letterOf, madeBy, type Scenario } from '../scenario.ts'
import type { Promises } from './promise.ts'

/** After each move. */
export const STOPS: Promises = {
  'nothing starts once the run is aborted, has failed or is cancelled now': ({ journal }) =>
    journal.entries.find(({ run, amid }) => run === 'run' && (amid.aborted || amid.cancels.includes('now')))?.word,
  'once a hook asks, or the run is cancelled after-model, only inner calls of running calls start': ({
    journal,
    scenario,
  }) =>
    journal.entries.find(
      ({ run, word, amid }) =>
        run === 'run' && isOuter(scenario, word) && (amid.hookAsked || amid.cancels.includes('after-model')),
    )?.word,
  'a run that is cancelled, or in whose background something is asked, begins no further step': ({ journal }) =>
    journal.late[0],
  'a call of a failed attempt starts only if another attempt requests it': ({ journal, scenario }) =>
    scenario.store || scenario.slowCheck || scenario.wrap
      ? undefined
      : journal.entries.find(({ run, word, before }) => run === 'run' && !before && isOuter(scenario, word))?.word,
  'what acts on the world does not start before its response is accepted': ({ journal, scenario }) => {
    if (scenario.eager === 'bold') return undefined
    for (const event of journal.now.events) {
      const isEarly = event.type === 'tool-entered' && event.provisional && !event.path
      if (isEarly && effectOf(event.toolName) === 'external') return `${event.toolName} ${event.callId}`
    }
    return undefined
  },
  'a running call is aborted only for a reason': ({ journal, scenario }) => {
    if (scenario.wrap || scenario.saveFails || mayDiscard(scenario)) return undefined
    return journal.entries.find(({ word, abortedAmid: amid }) => {
      if (!amid || !isOuter(scenario, word) || 'wmncaT'.includes(letterOf(word))) return false
      return !amid.aborted && !amid.failed && amid.cancels.length === 0 && amid.cancelledCalls.length === 0
    })?.word
  },
  'an abort, and a cancel now, reach all running calls at once': ({ own, place }) =>
    place.aborted || place.cancels.includes('now')
      ? own.find(({ word, came, isAborted }) => !came && !isAborted() && atEndOf(word) !== 'detach')?.word
      : undefined,
  'an inner call is stopped with the call that makes it': ({ journal, place, own }) => {
    const isStopped = (inner: string) => own.findLast(({ word }) => madeBy(word) === inner)?.isAborted()
    const inner = journal.entries.filter(({ process }) => process === place.process)
    return inner.find(({ word, came, isAborted }) => !came && !isAborted() && isStopped(word))?.word
  },
  'nothing waits for functions that were stopped, when their grace time is over': ({ journal, place, isQuiet }) => {
    const waits = place.gates.moves()
    const running = journal.entries.filter(({ process, came }) => process === place.process && !came)
    const isStopped = (move: string) => running.some(({ word }) => move.startsWith(`${word} `))
    const areStopped = waits.length > 0 && waits.every(isStopped) && running.every(({ isAborted }) => isAborted())
    return isQuiet && !place.isOver && areStopped ? waits.join() : undefined
  },
  'an aborted run ends when its grace time is over, whatever does not end': ({ place, isQuiet }) =>
    place.aborted && isQuiet && !place.isOver ? place.gates.moves().join() : undefined,
  'a cancelled run does not wait for background work': ({ journal, place, isQuiet }) => {
    const waits = place.gates.moves()
    if (place.cancels.length === 0 || place.isOver || !isQuiet || waits.length === 0) return undefined
    // A run that asks waits for its work.
    if (journal.entries.some(({ process, came }) => process === place.process && came === 'asked')) return undefined
    if (journal.now.events.some(({ type }) => type === 'question')) return undefined
    const isWork = (move: string) => {
      const work = journal.entries.findLast(({ word }) => move.startsWith(`${word} `))
      return work && atEndOf(work.word) && !work.isAborted()
    }
    return waits.every(isWork) ? waits.join() : undefined
  },
  'a tool that the request did not offer is not executed': ({ journal }) =>
    journal.entries.find(({ word }) => letterOf(word) === 'o')?.word,
  'no more steps begin than allowed': ({ journal, scenario: { maxSteps = Number.POSITIVE_INFINITY } }) => {
    const { size } = new Set(journal.steps)
    return size > maxSteps ? `${size}` : undefined
  },
}

/** Whether a call is neither made by another one nor work in the background. */
const isOuter = (scenario: Scenario, word: string) => !isInner(scenario, word) && !atEndOf(word)

/** Whether a call may be discarded while it runs. */
const mayDiscard = ({ hides, hook, steps }: Scenario) =>
  hides !== undefined || hook === 'edits' || steps.some((attempts) => attempts.length > 1)
