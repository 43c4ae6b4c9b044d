/** What happens once: an execution, an undo, a question, a sent message, a warm-up. */

import type { Entry } from '../journal.ts'
import { ofType } from '../place.ts'
import { actsOnTheWorld, baseOf, letterOf, madeBy, type Scenario } from '../scenario.ts'
import { isStored } from '../store.ts'
import { count, type Promises, twice } from './promise.ts'

/** After each move. */
export const ONCE: Promises = {
  'a call that acts on the world is executed at most once': ({ journal, scenario: { wrap } }) => {
    // A wrap may repeat what has failed.
    const mayRepeat = ({ came }: Entry) => wrap === 'wrap retry' && (came === 'threw' || came === 'ended its run')
    const all = journal.entries.filter(({ word, came }) => actsOnTheWorld(word) && came !== 'asked')
    return all.find((one, index) => {
      const earlier = all.slice(0, index).filter(({ key, word }) => key === one.key && word === one.word)
      return earlier.some((before) => !mayRepeat(before)) || earlier.length > 1
    })
  },
  'a call is executed as often as one attempt requests it, however many attempts there are': (world) => {
    const { journal, scenario, places } = world
    const warnings = places.flatMap(({ events }) => ofType(events, 'warning'))
    const isToldToStand = (word: string) =>
      warnings.some(({ code, message }) => code === 'compensation-failed' && message.startsWith(`${letterOf(word)}:`))
    const isUndone = (word: string) => journal.undone.some((undo) => undo.word === word) || isToldToStand(word)
    const executed = journal.entries.filter(
      ({ word, came }) => actsOnTheWorld(word) && came !== 'asked' && !isUndone(word),
    )
    const keys = new Set(executed.map(({ word, key }) => `${word} ${key}`))
    const words = [...keys].map((one) => one.split(' ')[0] ?? '')
    const requested = requestedIn(scenario)
    const may = (word: string) => count(requested, word) || count(requested, baseOf(word))
    return scenario.hides !== 'shown otherwise' && words.find((word) => count(words, word) > may(word))
  },
  'a function receives the input of its call, of its wrap or of a hook': ({ journal, scenario }) => {
    const mayChange = scenario.hook || ['wrap both', 'wrap catch'].includes(scenario.wrap ?? '')
    return journal.entries.find(({ word, callId }) => {
      const said = journal.said.get(callId) ?? word
      return said !== word && !scenario.beside && !(mayChange && word.startsWith(said))
    })
  },
  'from before a call acts until its outcome is stored, the store has that it may have happened': (world) => {
    const { journal, here, place, path, scenario } = world
    // After its grace time nothing waits for it any more.
    const isLost = ({ abortedIn }: Entry) => abortedIn !== undefined && path.slice(abortedIn).includes('time')
    const isOver = (one: Entry) => one.came || place.isOver || isLost(one)
    const isKnown = (one: Entry) => one.isStored && (isOver(one) || isStored(journal.stored, one.key))
    return scenario.store && here.find((one) => actsOnTheWorld(one.word) && !isKnown(one))
  },
  'a cancelled call is not executed again': ({ journal: { entries, cancelled }, places, scenario }) => {
    if (scenario.kill || scenario.wrap || places.some(({ result }) => result?.status === 'cancelled')) return false
    const isLater = (one: Entry, process: number) => (cancelled.get(one.callId) ?? process) < process
    return entries.find(({ key, process }) => entries.some((one) => one.key === key && isLater(one, process)))
  },
  'who asks for a call, or asks a question, gets its result or its answer, and none that does not count': (world) =>
    world.journal.misled[0],
  'a function receives only what its schema, and that of its question, accepts': ({ journal }) =>
    journal.entries.find(({ word, answers }) => word === 'N0' || answers.some((answer) => answer !== 'yes')),
  'a call is undone at most once, and with its own output': ({ journal: { undone, entries } }) =>
    undone.find(({ word, output }, index) => {
      const returned = entries.filter((one) => one.word === word && one.output === output)
      return undone.slice(0, index + 1).filter((one) => one.word === word).length > returned.length
    }),
  'a call that asks runs again only when it is answered, with all its answers': ({ journal, here }) => {
    const answered = (word: string) => journal.answered.filter(({ payload }) => payload === word).map(({ id }) => id)
    return here.find(({ word, answers }) => letterOf(word) === 'q' && answers.length !== new Set(answered(word)).size)
  },
  'no question is asked twice': ({ places }) =>
    places.map(({ events }) => twice(ofType(events, 'question').map(({ id }) => id))).find(Boolean),
  'an answered question is not asked again': ({ journal, place: { result } }) =>
    result?.interrupts?.find(({ id }) => journal.answered.some((one) => one.id === id)),
  'a hook asks once, in each step': ({ journal, scenario: { kill, partial }, isTorn }) =>
    !kill && !partial && !isTorn && twice(journal.asked),
  'a call is warmed up at most once': ({ journal }) => twice(journal.warmed),
  'a hook of the gate that is done does not judge an answer again': ({ journal, scenario: { kill }, isTorn }) =>
    !kill && !isTorn && twice(journal.hooked),
}

/** The words that are requested: those of the attempt of each step that says them most often, and what they call. */
function requestedIn({ steps, beside = [] }: Scenario): string[] {
  return [...steps, ...beside].flatMap((attempts) => {
    const words = new Set(attempts.flatMap(({ calls }) => calls))
    return [...words].flatMap((word) => {
      const most = Math.max(...attempts.map(({ calls }) => count(calls, word)))
      return Array.from({ length: most }, () => [word, madeBy(word) ?? []].flat()).flat()
    })
  })
}
