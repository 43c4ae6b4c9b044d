/** In which order, and how many at a time. */

import type { Entry } from '../journal.ts'
import { atEndOf, effectOf, isInner, keysOf, letterOf, madeBy } from '../scenario.ts'
import type { World } from '../world.ts'
import type { Promises } from './promise.ts'

/** After each move. */
export const ORDER: Promises = {
  'no more calls are checked and executed at a time than allowed': (world) => {
    const { place, scenario, own } = world
    const { aborted, cancels, cancelledCalls } = place.amid
    // An inner call uses the slot of its maker, an agent makes its calls in its own slot, and background work needs none.
    const needsSlot = (word: string) => !isInner(scenario, word) && !atEndOf(word)
    const executed = runningIn(world).filter(({ word, run }) => run === 'run' && needsSlot(word))
    const checked = place.gates
      .moves()
      .filter((move) => / is checked/.test(move) && needsSlot(move.split(' ')[0] ?? ''))
    const isAtWork = !aborted && cancels.length === 0 && cancelledCalls.length === 0
    const running = [...executed, ...(isAtWork ? checked : [])]
    // A call that has ended its run keeps its slot, so that nothing else starts in it.
    const keepsSlot = ({ came, isAborted }: Entry) => came === 'ended its run' && !isAborted()
    const kept = scenario.wrap || scenario.eager ? [] : own.filter(keepsSlot)
    return running.length > 0 && running.length + kept.length > scenario.limit && [...running, ...kept]
  },
  'no more inner calls of one call execute at a time than allowed': (world) => {
    const inner = runningIn(world).filter(({ word }) => isInner(world.scenario, word))
    return inner.length > world.scenario.innerLimit && inner
  },
  'a tool with a limit executes no more calls than that, in all runs': (world) => {
    const limited = runningIn(world).filter(({ word }) => letterOf(word) === 'z')
    return limited.length > 1 && limited
  },
  'no call that meets another at a key executes at the same time': (world) => {
    const running = runningIn(world)
    // Neither executions of one call nor a call and one that it makes.
    const areApart = (one: Entry, other: Entry) =>
      one.key !== other.key && one.word !== madeBy(other.word) && other.word !== madeBy(one.word)
    return running.find((one) => running.some((other) => meet(one.word, other.word) && areApart(one, other)))
  },
  'calls that meet at a key, and all calls of a run with one slot, begin in call order': (world) => {
    const { entries } = world.journal
    const isBehind = (word: string, other: string) => world.scenario.limit === 1 || meet(other, word)
    return entries.find(({ word, process, before = [], amid }, index) => {
      if (process !== world.place.process || !needsOrder(word) || amid.cancelledCalls.length > 0) return false
      // In any process.
      const hasBegun = (other: string) => entries.slice(0, index).some((one) => one.word.startsWith(other))
      return before.some((other) => needsOrder(other) && isBehind(word, other) && !hasBegun(other))
    })
  },
}

/** The executions of this process that are running, unless they were aborted: then they may have been abandoned. */
const runningIn = ({ here }: World): Entry[] => here.filter(({ came, isAborted }) => !came && !isAborted())

/** Whether two calls use the same key. Readers overlap. */
function meet(one: string, other: string): boolean {
  const areReaders = effectOf(one) === 'read' && effectOf(other) === 'read'
  return !areReaders && keysOf(one).some((key) => keysOf(other).includes(key))
}

const needsOrder = (word: string) => !atEndOf(word) && !'osu'.includes(letterOf(word))
