/** Many in, one out, in order of happening: where the events of everything at work in a run come together. */

import type { Flow } from './flow.ts'

export class Funnel<Event> {
  readonly #sink: (event: Event) => void
  readonly #queue: Event[] = []
  #puller: 'none' | 'busy' | 'waits' = 'none'
  #left = false
  #wakePuller: () => void = () => undefined
  #wakeWork: () => void = () => undefined

  /** `sink` is given what nobody pulls. */
  constructor(sink: (event: Event) => void) {
    this.#sink = sink
  }

  push(event: Event): void {
    if (this.#puller === 'none' && this.#queue.length === 0) this.#sink(event)
    else {
      this.#queue.push(event)
      this.#stir()
    }
  }

  /**
   * Waits until whoever pulls has taken what was pushed, and asks for more, so that nothing piles up. Throws when that has left.
   * Absent where there is nothing to wait for.
   */
  taken(): Promise<void> | undefined {
    return this.#left || this.#puller === 'busy' ? this.#whenTaken() : undefined
  }

  /** For one at a time: the loop waits for each. */
  async #whenTaken(): Promise<void> {
    if (!this.#left) {
      await new Promise<void>((resolve) => {
        this.#wakeWork = resolve
      })
    }
    if (this.#left) throw new Error('the wrap that asked has left')
  }

  /** Whoever pulls takes nothing more. It may be told so only later: a generator that waits can be closed only when that has come. */
  leave(): void {
    if (this.#puller === 'none') return
    this.#left = true
    this.#wakeWork()
  }

  /**
   * What is pushed while `work` is at it, as a flow; the outcome is the work's. Left before its end, it waits for the work, in
   * which {@link taken} throws. There is one such flow at a time.
   */
  async *pull<Result>(work: () => Promise<Result>): Flow<Event, Result> {
    if (this.#puller !== 'none') return await work()
    this.#puller = 'busy'
    let over = false
    const outcome = work().finally(() => {
      over = true
      this.#stir()
    })
    outcome.catch(() => undefined)
    try {
      for (;;) {
        while (this.#queue.length > 0) yield this.#queue.shift() as Event
        if (over) return await outcome
        this.#wakeWork()
        await new Promise<void>((resolve) => {
          this.#puller = 'waits'
          this.#wakePuller = resolve
        })
      }
    } finally {
      this.leave()
      await outcome.catch(() => undefined)
      this.#puller = 'none'
      this.#left = false
    }
  }

  /** What was pushed and nobody took. */
  drain(): Event[] {
    return this.#queue.splice(0)
  }

  #stir(): void {
    if (this.#puller !== 'waits') return
    this.#puller = 'busy'
    this.#wakePuller()
  }
}
