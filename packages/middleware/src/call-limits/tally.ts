/** Counts of calls, in full and by tool. */

export interface Tally {
  readonly modelCalls: number
  readonly toolCalls: number
  readonly perTool: Readonly<Record<string, number>>
}

export const NO_CALLS: Tally = { modelCalls: 0, toolCalls: 0, perTool: {} }

export function sumOf(a: Tally, b: Tally): Tally {
  const perTool = { ...a.perTool }
  for (const [name, count] of Object.entries(b.perTool)) perTool[name] = own(perTool, name) + count
  return { modelCalls: a.modelCalls + b.modelCalls, toolCalls: a.toolCalls + b.toolCalls, perTool }
}

export function withTool(tally: Tally, name: string): Tally {
  return sumOf(tally, { modelCalls: 0, toolCalls: 1, perTool: { [name]: 1 } })
}

/** The count of a tool, which may have the name of a member of `Object.prototype`. */
export function own(numbers: Readonly<Record<string, number>>, name: string): number {
  return Object.hasOwn(numbers, name) ? (numbers[name] ?? 0) : 0
}

/** The same counts while calls are added one after another. */
export class Counting {
  toolCalls: number
  readonly #perTool: Map<string, number>

  constructor({ toolCalls, perTool }: Tally) {
    this.toolCalls = toolCalls
    this.#perTool = new Map(Object.entries(perTool))
  }

  of(name: string): number {
    return this.#perTool.get(name) ?? 0
  }

  add(name: string): void {
    this.toolCalls++
    this.#perTool.set(name, this.of(name) + 1)
  }
}
