/** What a cancel, an abort, a question or a failure stops. */

import type { Entry } from '../journal.ts'
import { ofType } from '../place.ts'
import { atEndOf, effectOf, isInner, letterOf, madeBy } from '../scenario.ts'
import { MOST_MOVES, type World } from '../world.ts'
import type { Promises } from './promise.ts'

/** After each move. */
export const STOPS: Promises = {
  'nothing starts once the run is aborted, has failed or is cancelled now': ({ own }) =>
    own.find(({ amid }) => amid.aborted || amid.cancels.includes('now')),
  'once a hook asks, or the run is cancelled after-model, only inner calls of running calls start': (world) =>
    outerIn(world).find(({ amid }) => amid.hookAsked || amid.cancels.includes('after-model')),
  'a run that is cancelled, or in whose background something is asked, begins no further step': ({ journal }) =>
    journal.late[0],
  'a call of a failed attempt starts only if another attempt requests it': (world) => {
    const { store, check, wrap } = world.scenario
    return !store && !check && !wrap && outerIn(world).find(({ before }) => !before)
  },
  'what acts on the world does not start before its response is accepted': ({ place: { events }, scenario }) =>
    scenario.eager !== 'bold' &&
    ofType(events, 'tool-entered').find(
      ({ provisional, path, toolName }) => provisional && !path && effectOf(toolName) === 'external',
    ),
  'a running call is aborted only for a reason': (world) => {
    const { wrap, saveFails, hides, hook, steps } = world.scenario
    const mayDiscard = hides || hook === 'hook edits' || steps.some((attempts) => attempts.length > 1)
    if (wrap || saveFails || mayDiscard) return false
    return world.journal.entries.find(({ word, abortedAmid: amid }) => {
      if (!amid || !isOuter(world, word) || 'wmncaT'.includes(letterOf(word))) return false
      return !amid.aborted && !amid.failed && amid.cancels.length === 0 && amid.cancelledCalls.length === 0
    })
  },
  'an abort, and a cancel now, reach all running calls at once': ({ own, place: { amid } }) =>
    (amid.aborted || amid.cancels.includes('now')) &&
    own.find(({ word, came, isAborted }) => !came && !isAborted() && atEndOf(word) !== 'detach'),
  'an inner call is stopped with the call that makes it': ({ here, own }) => {
    const isStopped = (inner: string) => own.findLast(({ word }) => madeBy(word) === inner)?.isAborted()
    return here.find(({ word, came, isAborted }) => !came && !isAborted() && isStopped(word))
  },
  'nothing waits for functions that were stopped, when their grace time is over': ({ here, place, isQuiet }) => {
    const waits = place.gates.moves()
    const running = here.filter(({ came }) => !came)
    const isStopped = (move: string) => running.some(({ word }) => move.startsWith(`${word} `))
    const areStopped = waits.length > 0 && waits.every(isStopped) && running.every(({ isAborted }) => isAborted())
    return isQuiet && !place.isOver && areStopped && waits
  },
  'an aborted run ends when its grace time is over, whatever does not end': ({ place, isQuiet }) =>
    place.amid.aborted && isQuiet && !place.isOver && place.gates.moves(),
  'a cancelled run does not wait for background work': ({ journal, here, place, isQuiet }) => {
    const waits = place.gates.moves()
    if (place.amid.cancels.length === 0 || place.isOver || !isQuiet || waits.length === 0) return false
    // A run that asks waits for its work.
    if (here.some(({ came }) => came === 'asked') || ofType(place.events, 'question').length > 0) return false
    const isWork = (move: string) => {
      const work = journal.entries.findLast(({ word }) => move.startsWith(`${word} `))
      return work && atEndOf(work.word) && !work.isAborted()
    }
    return waits.every(isWork) && waits
  },
  'a tool that the request did not offer is not executed': ({ journal }) =>
    journal.entries.find(({ word }) => letterOf(word) === 'o'),
  'every run ends': (world) => {
    const isStuck = !world.isOver && world.moves().length === 0
    return (isStuck || world.path.length > MOST_MOVES) && world.key()
  },
  'no more steps begin than allowed': ({ journal, scenario: { maxSteps } }) =>
    new Set(journal.steps).size > maxSteps && journal.steps,
}

/** Whether a call is neither made by another one nor work in the background. */
const isOuter = ({ scenario }: World, word: string) => !isInner(scenario, word) && !atEndOf(word)
const outerIn = (world: World): Entry[] => world.own.filter(({ word }) => isOuter(world, word))
