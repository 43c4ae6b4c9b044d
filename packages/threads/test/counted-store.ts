/** Counts the calls of a store. */

import type { ThreadStore } from '../src/index.ts'

type Counts = Readonly<Record<'load' | 'events' | 'turns' | 'change' | 'renewLeases', number>>

export interface CountedStore {
  readonly store: ThreadStore
  /** How often each method was called since the last call of this function. */
  taken(): Counts
}

export function countedStore(store: ThreadStore): CountedStore {
  const none = { load: 0, events: 0, turns: 0, change: 0, renewLeases: 0 }
  let counts = { ...none }
  const counted = <Given extends unknown[], Result>(name: keyof typeof none, call: (...given: Given) => Result) => {
    return (...given: Given): Result => {
      counts[name]++
      return call(...given)
    }
  }
  return {
    store: {
      ...store,
      load: counted('load', store.load),
      events: counted('events', store.events),
      turns: counted('turns', store.turns),
      renewLeases: counted('renewLeases', store.renewLeases),
      change: (id, decide, options) => {
        counts.change++
        return store.change(id, decide, options)
      },
    },
    taken() {
      const taken = counts
      counts = { ...none }
      return taken
    },
  }
}
