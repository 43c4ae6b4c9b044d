/** Everything that one process waits for. A path of the explorer is a list of the names of gates. */

interface Gate {
  readonly outcomes: () => readonly string[]
  readonly open: (outcome: string) => void
}

export class Gates {
  readonly #closed: Map<string, Gate> = new Map()
  /** How often each gate was reached. */
  readonly reached: Map<string, number> = new Map()

  /** Waits until the explorer opens this gate, with one of the outcomes that are possible by then. */
  pass(name: string, outcomes: () => readonly string[] = () => ['']): Promise<string> {
    const times = (this.reached.get(name) ?? 0) + 1
    this.reached.set(name, times)
    return new Promise((open) => void this.#closed.set(times === 1 ? name : `${name} #${times}`, { outcomes, open }))
  }

  /** What may happen next. */
  moves(): readonly string[] {
    return [...this.#closed].flatMap(([name, { outcomes }]) => outcomes().map((one) => (one ? `${name} ${one}` : name)))
  }

  /** Returns whether a gate was waiting for this. */
  open(move: string): boolean {
    for (const [name, { outcomes, open }] of this.#closed) {
      const outcome = outcomes().find((one) => (one ? `${name} ${one}` : name) === move)
      if (outcome === undefined) continue
      this.#closed.delete(name)
      open(outcome)
      return true
    }
    return false
  }
}
