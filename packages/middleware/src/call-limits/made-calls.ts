/** The tool calls of a step that a limit let run, by the call that made them. */

import { type Counting, NO_CALLS, type Tally, withTool } from './tally.ts'

export interface MadeCall {
  /** The calls that made it, as JSON. */
  readonly by: string
  readonly id: string
  readonly name: string
}

export class MadeCalls {
  readonly #calls: MadeCall[]

  constructor(calls: readonly MadeCall[]) {
    this.#calls = [...calls]
  }

  get all(): readonly MadeCall[] {
    return this.#calls
  }

  get tally(): Tally {
    return this.#calls.reduce((tally, { name }) => withTool(tally, name), NO_CALLS)
  }

  add(makers: readonly string[], id: string, name: string): void {
    this.#calls.push({ by: JSON.stringify(makers), id, name })
  }

  /** A call was discarded: without early starts it would never have run. */
  remove(makers: readonly string[], id: string): void {
    const by = JSON.stringify(makers)
    const place = this.#calls.findIndex((call) => call.by === by && call.id === id)
    if (place >= 0) this.#calls.splice(place, 1)
  }

  clear(): void {
    this.#calls.length = 0
  }

  isMade(makers: readonly string[], id: string): boolean {
    const by = JSON.stringify(makers)
    return this.#calls.some((call) => call.by === by && call.id === id)
  }

  /** Adds, for each maker from the outermost on, the calls that it made before the next one of the path, and that one unless it is the last. */
  count(path: readonly string[], counting: Counting): void {
    for (let depth = 1; depth < path.length; depth++) {
      const by = JSON.stringify(path.slice(0, depth))
      for (const call of this.#calls) {
        if (call.by !== by) continue
        const isNext = call.id === path[depth]
        if (isNext && depth === path.length - 1) break
        counting.add(call.name)
        if (isNext) break
      }
    }
  }
}
