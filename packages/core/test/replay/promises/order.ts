/** In which order, and how many at a time. */

import type { Entry, Journal } from '../journal.ts'
import { AT_END, EFFECTS, inputOf, isInner, keysOf, letterOf, MAKES } from '../scenario.ts'
import type { World } from '../world.ts'
import type { Promises } from './promise.ts'

/** After each move. */
export const ORDER: Promises = {
  'no more calls are checked and executed at a time than allowed': (world) => {
    const checked = world.journal.checks.filter(
      ({ process, isDone }) => process === world.place.process && !isDone && isAtWork(world),
    )
    const running = [...runningIn(world), ...checked].filter((one) => needsSlot(world, one))
    const kept = world.journal.entries.filter((one) => keepsSlot(world, one))
    return running.length > 0 && running.length + kept.length > world.scenario.limit
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
    const users = runningIn(world).filter(({ word }) => keysOf(word).length > 0)
    return users.find((one) => users.some((other) => meet(one, other) && !isBeside(one, other)))?.word
  },
  'calls that meet at a key, and all calls of a run with one slot, begin in call order': ({
    journal,
    place,
    scenario,
  }) => {
    const own = journal.entries.filter(({ process }) => process === place.process)
    return own.find((one) => {
      const { word, before = [] } = one
      const behind = before.filter(
        (other) =>
          scenario.limit === 1 || keysOf(other).some((key) => keysOf(word).includes(key) && !isReader(word, other)),
      )
      return needsOrder(word) && behind.some((other) => needsOrder(other) && !hadBegun(journal, one, other))
    })?.word
  },
}

/** Whether nothing was aborted, so that nothing is abandoned. */
function isAtWork({ place }: World): boolean {
  return !place.aborted && place.cancels.length === 0 && place.cancelledCalls.length === 0
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
  return run === 'run' && !isInner(scenario, word) && !AT_END[letterOf(word)]
}

/** A call that has ended its run keeps its slot, so that nothing else starts in it. */
function keepsSlot({ place, scenario }: World, { process, came, isAborted }: Entry): boolean {
  return process === place.process && came === 'ended its run' && !scenario.wrap && !scenario.eager && !isAborted()
}

function meet(one: Entry, other: Entry): boolean {
  return (
    one !== other && keysOf(one.word).some((key) => keysOf(other.word).includes(key)) && !isReader(one.word, other.word)
  )
}

/** Readers overlap. */
function isReader(one: string, other: string): boolean {
  return EFFECTS[letterOf(one)] === 'read' && EFFECTS[letterOf(other)] === 'read'
}

/** One is part of the other, which makes it. */
function isBeside({ word: one }: Entry, { word: other }: Entry): boolean {
  return one === MAKES[letterOf(other)]?.(inputOf(other)) || other === MAKES[letterOf(one)]?.(inputOf(one))
}

const needsOrder = (word: string) => !AT_END[letterOf(word)] && !'osu'.includes(letterOf(word))

/** An earlier call has begun, in any process, or was cancelled. */
function hadBegun({ entries }: Journal, one: Entry, other: string): boolean {
  const earlier = entries.slice(0, entries.indexOf(one))
  return one.amid.cancelledCalls.length > 0 || earlier.some(({ word }) => word.startsWith(other))
}
