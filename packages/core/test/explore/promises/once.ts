/** What happens once: an execution, an undo, a question, a sent message, a warm-up. */

import type { Entry } from '../journal.ts'
import { actsOnTheWorld, baseOf, letterOf, madeBy, type Scenario } from '../scenario.ts'
import { isStored } from '../store.ts'
import type { Promises } from './promise.ts'

/** After each move. */
export const ONCE: Promises = {
  'a call that acts on the world is executed at most once': ({ journal, scenario }) => {
    const all = journal.entries.filter(({ word, came }) => actsOnTheWorld(word) && came !== 'asked')
    return all.find((one, index) => {
      const earlier = all.slice(0, index).filter(({ key, word }) => key === one.key && word === one.word)
      return earlier.some((before) => !mayRepeat(scenario, before)) || earlier.length > 1
    })?.word
  },
  'a call is executed as often as one attempt requests it, however many attempts there are': ({
    journal,
    scenario,
  }) => {
    if (scenario.hides === 'other') return undefined
    const requested = requestedIn(scenario)
    const keys = new Map<string, Set<string>>()
    for (const { word, key, came } of journal.entries) {
      if (!actsOnTheWorld(word) || came === 'asked' || journal.undone.some((undo) => undo.word === word)) continue
      keys.set(word, (keys.get(word) ?? new Set()).add(key))
    }
    const times = (word: string) => requested.get(word) ?? requested.get(baseOf(word)) ?? 0
    return [...keys].find(([word, { size }]) => size > times(word))?.[0]
  },
  'a function receives the input of its call, of its wrap or of a hook': ({
    journal,
    scenario: { wrap, hook, beside },
  }) =>
    journal.entries.find(({ word, callId }) => {
      const said = journal.said.get(callId) ?? word
      return said !== word && !beside && !((hook || wrap === 'both' || wrap === 'catch') && word.startsWith(said))
    })?.word,
  'from before a call acts until its outcome is stored, the store has that it may have happened': ({
    journal,
    place,
    path,
    scenario,
  }) => {
    if (!scenario.store) return undefined
    const acting = journal.entries.filter(({ word, process }) => process === place.process && actsOnTheWorld(word))
    // After its grace time nothing waits for it any more.
    const isLost = ({ abortedIn }: Entry) => abortedIn !== undefined && path.slice(abortedIn).includes('time')
    return acting.find(
      (one) => !one.isStored || !(one.came || place.isOver || isLost(one) || isStored(journal.stored, one.key)),
    )?.word
  },
  'a cancelled call is not executed again': ({ journal: { entries, cancelled, shown }, scenario }) => {
    if (scenario.kill || scenario.wrap || shown.some(({ result }) => result?.status === 'cancelled')) return undefined
    const isLater = (one: Entry, process: number) => (cancelled.get(one.callId) ?? process) < process
    return entries.find(({ key, process }) => entries.some((one) => one.key === key && isLater(one, process)))?.word
  },
  'who asks for a call, or asks a question, gets its result or its answer, and none that does not count': ({
    journal,
  }) => journal.misled[0],
  'a function receives only what its schema, and that of its question, accepts': ({ journal }) =>
    journal.entries.find(({ word, answers }) => word === 'N0' || answers.some((answer) => answer !== 'yes'))?.word,
  'a call is undone at most once, and with its own output': ({ journal }) =>
    journal.undone.find(({ word, output }, index) => {
      const returned = journal.entries.filter((one) => one.word === word && one.output === output)
      return journal.undone.slice(0, index + 1).filter((one) => one.word === word).length > returned.length
    })?.word,
  'a call that asks runs again only when it is answered, with all its answers': ({ journal, place }) => {
    const answersTo = (word: string) => {
      const answered = journal.answered.filter(({ payload }) => payload === word)
      return new Set(answered.map(({ id }) => id)).size
    }
    return journal.entries.find(
      ({ word, process, answers }) =>
        letterOf(word) === 'q' && process === place.process && answers.length !== answersTo(word),
    )?.word
  },
  'no question is asked twice': ({ journal }) => {
    const asked = journal.shown.flatMap(({ events, process }) =>
      events.flatMap((event) => (event.type === 'question' ? [`${process} ${event.id}`] : [])),
    )
    return twice(asked)
  },
  'an answered question is not asked again': ({ journal }) =>
    journal.now.result?.interrupts?.find(({ id }) => journal.answered.some((one) => one.id === id))?.id,
  'a hook asks once, in each step': ({ journal, scenario: { kill, partial }, isTorn }) =>
    kill || partial || isTorn ? undefined : twice(journal.asked),
  'a call is warmed up at most once': ({ journal: { warmed } }) => twice(warmed),
  'a hook of the gate that is done does not judge an answer again': ({ journal, scenario: { kill }, isTorn }) =>
    kill || isTorn ? undefined : twice(journal.hooked),
}

const twice = (all: readonly string[]) => all.find((one, index) => all.indexOf(one) !== index)

/** Whether another execution of the same call may follow this one in its wrap. */
function mayRepeat({ wrap }: Scenario, { came }: Entry): boolean {
  return wrap === 'retry' && (came === 'threw' || came === 'ended its run')
}

/** How often each word is requested: in the attempt of each step that says it most often. Other calls make some of them. */
function requestedIn({ steps, beside = [] }: Scenario): ReadonlyMap<string, number> {
  const times = new Map<string, number>()
  const add = (word: string, more: number) => {
    times.set(word, (times.get(word) ?? 0) + more)
    const made = madeBy(word)
    if (made) add(made, more)
  }
  for (const attempts of [...steps, ...beside]) {
    const words = new Set(attempts.flatMap(({ calls }) => calls))
    for (const word of words)
      add(word, Math.max(...attempts.map(({ calls }) => calls.filter((one) => one === word).length)))
  }
  return times
}
