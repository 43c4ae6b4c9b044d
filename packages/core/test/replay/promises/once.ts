/** What happens once: an execution, an undo, a question, a sent message, a warm-up. */

import type { Entry } from '../journal.ts'
import { actsOnTheWorld, inputOf, letterOf, MAKES, type Scenario } from '../scenario.ts'
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
    return [...keys].find(([word, { size }]) => size > (requested.get(baseOf(word, requested)) ?? 0))?.[0]
  },
  'a function receives the input of its call, or of its wrap': ({ journal, scenario: { wrap, beside } }) =>
    journal.entries.find(({ word, callId }) => {
      const said = journal.said.get(callId)
      return (
        said !== undefined &&
        said !== word &&
        !beside &&
        !((wrap === 'both' || wrap === 'catch') && word.startsWith(said))
      )
    })?.word,
  'from before a call acts until its outcome is stored, the store has that it may have happened': ({
    journal,
    place,
    scenario,
  }) => {
    if (!scenario.store) return undefined
    const own = journal.entries.filter(({ word, process }) => process === place.process && actsOnTheWorld(word))
    return own.find(
      ({ key, came, isStored: wasStored }) => !wasStored || (!came && !place.isOver && !isStored(journal.stored, key)),
    )?.word
  },
  'a cancelled call is not executed again': ({ journal: { entries, cancelled, shown }, scenario }) => {
    if (scenario.kill || scenario.wrap || shown.some(({ result }) => result?.status === 'cancelled')) return undefined
    const isLater = (one: Entry, process: number) => (cancelled.get(one.callId) ?? process) < process
    return entries.find(({ key, process }) => entries.some((one) => one.key === key && isLater(one, process)))?.word
  },
  'who asks for a call gets the result of that call, and none of a discarded one': ({ journal }) => journal.misled[0],
  'a call is undone at most once, and with its own output': ({ journal }) =>
    journal.undone.find(({ word, output }, index) => {
      const returned = journal.entries.filter((one) => one.word === word && one.output === output)
      return journal.undone.slice(0, index + 1).filter((one) => one.word === word).length > returned.length
    })?.word,
  'a call that asks runs again only when it is answered, with all its answers': ({ journal }) =>
    journal.entries.find((one) => {
      const asked = journal.entries.filter(
        ({ key, word, came }) => key === one.key && word === one.word && came === 'asked',
      )
      const before = asked.filter((other) => journal.entries.indexOf(other) < journal.entries.indexOf(one))
      return asksItself(one.word) && one.answers.length !== Math.min(1, before.length) && !isCutOff(before)
    })?.word,
  'no question is asked twice': ({ journal }) => {
    const asked = journal.shown.flatMap(({ events, process }) =>
      events.flatMap((event) => (event.type === 'question' ? [`${process} ${event.id}`] : [])),
    )
    return asked.find((one, index) => asked.indexOf(one) !== index)
  },
  'an answered question is not asked again': ({ journal }) =>
    journal.now.result?.interrupts?.find(({ id }) => journal.answered.some((one) => one.id === id))?.id,
  'a call is warmed up at most once': ({ journal: { warmed } }) =>
    warmed.find((id, index) => warmed.indexOf(id) !== index),
  'a hook of the gate that is done does not judge an answer again': ({
    journal: { hooked },
    scenario: { kill },
    isTorn,
  }) => (kill || isTorn ? undefined : hooked.find((one, index) => hooked.indexOf(one) !== index)),
}

/** Whether another execution of the same call may follow this one in its wrap. */
function mayRepeat({ wrap }: Scenario, { came }: Entry): boolean {
  return wrap === 'retry' && (came === 'threw' || came === 'ended its run')
}

const asksItself = (word: string) => letterOf(word) === 'q'

/** A process ended between a question and its checkpoint, so the call asks again. */
function isCutOff(asked: readonly Entry[]): boolean {
  return asked.length > 0
}

/** How often each word is requested: in the attempt of each step that says it most often. Other calls make some of them. */
function requestedIn({ steps, beside = [] }: Scenario): ReadonlyMap<string, number> {
  const times = new Map<string, number>()
  const add = (word: string, more: number) => {
    times.set(word, (times.get(word) ?? 0) + more)
    const made = MAKES[letterOf(word)]?.(inputOf(word))
    if (made) add(made, more)
  }
  for (const attempts of [...steps, ...beside]) {
    const words = new Set(attempts.flatMap(({ calls }) => calls))
    for (const word of words)
      add(word, Math.max(...attempts.map(({ calls }) => calls.filter((one) => one === word).length)))
  }
  return times
}

/** Without what a wrap has added. */
function baseOf(word: string, requested: ReadonlyMap<string, number>): string {
  return requested.has(word) ? word : word.replace(/[ab]+$/, '')
}
