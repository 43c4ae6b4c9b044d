/** What core promises to those who use it, by name. */

import { messageOf } from '../../../src/vocabulary/errors.ts'
import type { World } from '../world.ts'
import { ENDS } from './ends.ts'
import { EVENTS, SEEN } from './events.ts'
import { ONCE } from './once.ts'
import { ORDER } from './order.ts'
import type { Promises } from './promise.ts'
import { historyOf, RESULTS } from './results.ts'
import { STOPS } from './stops.ts'

export { historyOf } from './results.ts'

const unheard: unknown[] = []
process.on('unhandledRejection', (error) => void unheard.push(error))

const HEARD: Promises = { 'no rejection is left unhandled': () => unheard.splice(0).map(messageOf)[0] }

const ALWAYS = Object.entries({ ...HEARD, ...ONCE, ...ORDER, ...STOPS, ...SEEN })
const AT_THE_END = Object.entries({ ...EVENTS, ...ENDS, ...RESULTS })

const SAME = 'an eager run, interrupted or not, has the same outcome as a waiting one'

export interface Broken {
  readonly promise: string
  readonly problem: string
  /** What had happened, in order. */
  readonly path: readonly string[]
}

/** The first promise that is broken now. `expected`: the history of an undisturbed run. */
export function brokenIn(world: World, expected: string): Broken | undefined {
  const { path } = world
  for (const [promise, problemOf] of world.place.isOver ? [...ALWAYS, ...AT_THE_END] : ALWAYS) {
    const problem = problemOf(world)
    if (problem) return { promise, problem: typeof problem === 'string' ? problem : JSON.stringify(problem), path }
  }
  const history = historyOf(world) ?? expected
  return history === expected ? undefined : { promise: SAME, problem: `${history}, expected ${expected}`, path }
}
