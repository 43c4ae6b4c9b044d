/** In which order, and how many at a time. */

import type { Entry } from '../journal.ts'
import { atEndOf, effectOf, isInner, keysOf, letterOf, madeBy } from '../scenario.ts'
import type { World } from '../world.ts'
import type { Promises } from './promise.ts'

/** After each move. */
export const ORDER: Promises = {
  'no more calls are checked and executed at a time than allowed': (world) => {
    const { journal, place, scenario } = world
    const isAtWork = !place.aborted && place.cancels.length === 0 && place.cancelledCalls.length === 0
    const checked = journal.checks.filter(({ process, isDone }) => process === place.process && !isDone && isAtWork)
    const running = [...runningIn(world), ...checked].filter((one) => needsSlot(world, one))
    const kept = world.own.filter((one) => keepsSlot(world, one))
    return running.length > 0 && running.length + kept.length > scenario.limit
      ? wordsOf([...running, ...kept])
      : undefined
  },
  'no more inner calls of one call execute at a time than allowed': (world) => {
    const inner = runningIn(world).filter(({ word }) => isInner(world.scenario, word))
    return inner.length > (world.scenario.innerLimit ?? Number.POSITIVE_INFINITY) ? wordsOf(inner) : undefined
  },
  'a tool with a limit executes no more calls than that, in all runs': (world) => {
    const limited = runningIn(world).filter(({ word }) => letterOf(word) === 'z')
    return limited.length > 1 ? wordsOf(limited) : undefined
  },
  'no call that meets another at a key executes at the same time': (world) => {
    const running = runningIn(world)
    // Neither executions of one call nor a call and one that it makes.
    const areApart = (one: Entry, other: Entry) =>
      one.key !== other.key && one.word !== madeBy(other.word) && other.word !== madeBy(one.word)
    return running.find((one) => running.some((other) => meet(one.word, other.word) && areApart(one, other)))?.word
  },
  'calls that meet at a key, and all calls of a run with one slot, begin in call order': ({
    journal: { entries },
    place,
    scenario,
  }) =>
    entries.find(({ word, process, before = [], amid }, index) => {
      if (process !== place.process || !needsOrder(word) || amid.cancelledCalls.length > 0) return false
      // In any process.
      const hasBegun = (other: string) => entries.slice(0, index).some((one) => one.word.startsWith(other))
      const isBehind = (other: string) => needsOrder(other) && (scenario.limit === 1 || meet(other, word))
      return before.some((other) => isBehind(other) && !hasBegun(other))
    })?.word,
}

function wordsOf(entries: readonly Pick<Entry, 'word'>[]): string {
  return entries.map(({ word }) => word).join(', ')
}

/** The executions of this process that are running, unless they were aborted: then they may have been abandoned. */
function runningIn({ journal, place }: World): Entry[] {
  return journal.entries.filter((one) => one.process === place.process && !one.came && !one.isAborted())
}

/** An inner call uses the slot of its maker, an agent makes its calls in its own slot, and background work needs none. */
function needsSlot({ scenario }: World, { word, run }: Pick<Entry, 'word' | 'run'>): boolean {
  return run === 'run' && !isInner(scenario, word) && !atEndOf(word)
}

/** A call that has ended its run keeps its slot, so that nothing else starts in it. */
function keepsSlot({ scenario }: World, { came, isAborted }: Entry): boolean {
  return came === 'ended its run' && !scenario.wrap && !scenario.eager && !isAborted()
}

/** Whether two calls use the same key. Readers overlap. */
function meet(one: string, other: string): boolean {
  const areReaders = effectOf(one) === 'read' && effectOf(other) === 'read'
  return !areReaders && keysOf(one).some((key) => keysOf(other).includes(key))
}

const needsOrder = (word: string) => !atEndOf(word) && !'osu'.includes(letterOf(word))
