/** A clock that only moves on demand: vitest's, or a {@link StandingClock} without vitest. */
export interface PlayClock {
  /** The number of waiting timers. */
  count(): number
  /** Goes to the next timer, and calls it. */
  next(): void
  /** Moves on this far, timer by timer, and lets what each of them calls settle. */
  pass(ms: number): Promise<void>
}

interface Timer {
  readonly due: number
  readonly act: () => void
}

/** One turn of the event loop, whose clock is not faked: everything that waits only for promises has settled. */
const immediate = setImmediate
export const turn = (): Promise<void> => new Promise((resolve) => immediate(resolve))

/** Replaces timers and times. What is due at the same time happens in the order in which it was requested. */
export class StandingClock implements PlayClock {
  readonly #timers = new Map<number, Timer>()
  #now = 0
  #asked = 0

  /** Everything that runs from now on uses this clock. Returns a function that removes it. */
  install(): () => void {
    const { setTimeout, clearTimeout, performance, Date: RealDate } = globalThis
    const now = () => this.#now
    class StandingDate extends RealDate {
      static override now = now
    }
    Object.assign(globalThis, {
      setTimeout: (act: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) =>
        this.#ask(() => act(...given), Number(ms)),
      clearTimeout: (id?: number) => void (id !== undefined && this.#timers.delete(id)),
      performance: { now, timeOrigin: 0 },
      Date: StandingDate,
    })
    return () => void Object.assign(globalThis, { setTimeout, clearTimeout, performance, Date: RealDate })
  }

  /** Resets the clock to its beginning. */
  reset(): void {
    this.#timers.clear()
    this.#now = 0
  }

  count(): number {
    return this.#timers.size
  }

  /** How long each timer still waits, in the order in which they were requested. */
  dues(): readonly number[] {
    return [...this.#timers.values()].map(({ due }) => due - this.#now)
  }

  next(): void {
    let first: readonly [id: number, timer: Timer] | undefined
    for (const [id, timer] of this.#timers) {
      if (!first || timer.due < first[1].due) first = [id, timer]
    }
    if (!first) return
    const [id, { due, act }] = first
    this.#timers.delete(id)
    this.#now = Math.max(this.#now, due)
    act()
  }

  async pass(ms: number): Promise<void> {
    const end = this.#now + ms
    await turn()
    while ([...this.#timers.values()].some(({ due }) => due <= end)) {
      this.next()
      await turn()
    }
    this.#now = end
  }

  #ask(act: () => void, ms: number): number {
    const id = ++this.#asked
    this.#timers.set(id, { due: this.#now + Math.max(0, ms), act })
    return id
  }
}
