/** What core promises to those who use it, by name. */

import type { World } from '../world.ts'
import { ENDS } from './ends.ts'
import { EVENTS, SEEN } from './events.ts'
import { ONCE } from './once.ts'
import { ORDER } from './order.ts'
import { historyOf, RESULTS } from './results.ts'
import { STOPS } from './stops.ts'

export { historyOf } from './results.ts'

const ALWAYS = [ONCE, ORDER, STOPS, SEEN]

const SAME = 'an eager run, interrupted or not, has the same outcome as a waiting one'

/** The first promise that is broken now, and how. */
export function broken(world: World, expected: string): readonly [promise: string, problem: string] | undefined {
  const groups = world.place.isOver ? [...ALWAYS, EVENTS, ENDS, RESULTS] : ALWAYS
  for (const group of groups) {
    for (const [promise, isBroken] of Object.entries(group)) {
      const problem = isBroken(world)
      if (problem !== undefined) return [promise, problem]
    }
  }
  const history = historyOf(world)
  if (history === undefined || history === expected) return undefined
  return [SAME, `${history}, expected ${expected}`]
}
