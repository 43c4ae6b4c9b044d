/** The tool calls of a step that a limit let run, by the call that made them. */

import { type Counting, NO_CALLS, type Tally, withTool } from './tally.ts'

export interface MadeCall {
  /** The calls that made it, as JSON. */
  readonly by: string
  readonly id: string
  readonly name: string
}

export class MadeCalls {
  readonly #calls: MadeCall[] = []
  /** How often each call was executed, by its maker and its id. */
  readonly #executions = new Map<string, number>()

  constructor(calls: readonly MadeCall[]) {
    for (const call of calls) this.#add(call)
  }

  get all(): readonly MadeCall[] {
    return this.#calls
  }

  get tally(): Tally {
    return this.#calls.reduce((tally, { name }) => withTool(tally, name), NO_CALLS)
  }

  add(makers: readonly string[], id: string, name: string): MadeCall {
    return this.#add({ by: JSON.stringify(makers), id, name })
  }

  /** A call was discarded: without early starts it would never have run. */
  remove(call: MadeCall): void {
    const place = this.#calls.indexOf(call)
    if (place < 0) return
    this.#calls.splice(place, 1)
    this.#count(call.by, call.id, -1)
  }

  /** A call of the response and the calls inside it, once for each execution. */
  within(id: string): readonly MadeCall[] {
    const path = JSON.stringify([id])
    const isInside = ({ by }: MadeCall) => by === path || by.startsWith(`${path.slice(0, -1)},`)
    return this.#calls.filter((call) => (call.by === '[]' ? call.id === id : isInside(call)))
  }

  clear(): void {
    this.#calls.length = 0
    this.#executions.clear()
  }

  /** How often this call was executed. */
  executionsOf(path: readonly string[]): number {
    return this.#executions.get(keyOf(JSON.stringify(path.slice(0, -1)), path.at(-1) ?? '')) ?? 0
  }

  /**
   * Adds what counts before the last call of the path. Each call of the path made the next one: what counts are the calls that it made before that
   * one, and the next one itself, except for the last.
   */
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

  #add(call: MadeCall): MadeCall {
    this.#calls.push(call)
    this.#count(call.by, call.id, 1)
    return call
  }

  #count(by: string, id: string, more: number): void {
    const key = keyOf(by, id)
    this.#executions.set(key, (this.#executions.get(key) ?? 0) + more)
  }
}

/** The ids of the calls that made a call, then its own. */
export function pathOf({ by, id }: MadeCall): readonly string[] {
  return [...(JSON.parse(by) as string[]), id]
}

function keyOf(by: string, id: string): string {
  return `${by} ${id}`
}
