/** Counts the calls of a store. */

import type { ThreadStore } from '../src/index.ts'

export interface CountedStore {
  readonly store: ThreadStore
  /** How often each method was called since the last call of this function. */
  taken(): { readonly load: number; readonly events: number; readonly turns: number; readonly change: number }
}

export function countedStore(store: ThreadStore): CountedStore {
  const none = { load: 0, events: 0, turns: 0, change: 0 }
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
