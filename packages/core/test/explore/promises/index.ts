/** What core promises to those who use it, by name. */

import type { World } from '../world.ts'
import { ENDS } from './ends.ts'
import { EVENTS, SEEN } from './events.ts'
import { ONCE } from './once.ts'
import { ORDER } from './order.ts'
import { historyOf, RESULTS } from './results.ts'
import { STOPS } from './stops.ts'

export { historyOf } from './results.ts'

const ALWAYS = Object.entries({ ...ONCE, ...ORDER, ...STOPS, ...SEEN })
const AT_THE_END = Object.entries({ ...EVENTS, ...ENDS, ...RESULTS })

const SAME = 'an eager run, interrupted or not, has the same outcome as a waiting one'

/** The first promise that is broken now, and how. `expected`: the history of an undisturbed run. */
export function broken(world: World, expected: string): readonly [promise: string, problem: string] | undefined {
  for (const [promise, problemOf] of world.place.isOver ? [...ALWAYS, ...AT_THE_END] : ALWAYS) {
    const problem = problemOf(world)
    if (problem !== undefined) return [promise, problem]
  }
  const history = historyOf(world)
  return history === undefined || history === expected ? undefined : [SAME, `${history}, expected ${expected}`]
}
