/** Tracks what a wrap does by itself, apart from what its `next` does. Used only where that decides whether the wrap has a span. */

import { byHand, type Flow } from '../flow/flow.ts'

export class OwnPart {
  #changed = false
  /** What `next` has returned or thrown. */
  readonly #came = new Set<unknown>()
  /** The last event of `next`, until the wrap passes it on. */
  #event: unknown
  /** How many steps are running. */
  readonly #steps = { wrap: 0, next: 0 }
  /** When that last changed, in `performance.now()`. */
  #since = 0
  #longest = 0

  /** Whether it passed on something other than it received. */
  get changed(): boolean {
    return this.#changed
  }

  /** The longest wait in milliseconds while its `next` was not running. */
  get waited(): number {
    this.#tick()
    return this.#longest
  }

  /** Whether it received this error from its `next`. */
  got(thrown: unknown): boolean {
    return this.#came.has(thrown)
  }

  /** Wraps the flow of `next`. `changed`: the wrap passed on something other than it received. */
  ofNext<Event, Result>(flow: Flow<Event, Result>, changed: boolean): Flow<Event, Result> {
    this.#changed ||= changed
    return this.#watched('next', flow, ({ done, value }) => {
      if (done) this.#came.add(value)
      else {
        this.#changed ||= this.#event !== undefined
        this.#event = value
      }
    })
  }

  /** Wraps the flow of the wrap. */
  ofWrap<Event, Result>(flow: Flow<Event, Result>): Flow<Event, Result> {
    return this.#watched('wrap', flow, ({ done, value }) => {
      this.#changed ||= done ? this.#event !== undefined || !this.#came.has(value) : this.#event !== value
      this.#event = undefined
    })
  }

  /** `seen` is called with each step, until the flow is closed, before the reader of the step continues. It does not delay the reader. */
  #watched<Event, Result>(
    side: 'wrap' | 'next',
    flow: Flow<Event, Result>,
    seen: (step: IteratorResult<Event, Result>) => void,
  ): Flow<Event, Result> {
    const over = () => {
      this.#tick()
      this.#steps[side]--
    }
    const step = (advance: () => Promise<IteratorResult<Event, Result>>, told = seen) => {
      this.#tick()
      this.#steps[side]++
      const promise = advance()
      Promise.resolve(promise)
        .then(
          (result) => {
            over()
            told(result)
          },
          (error) => {
            over()
            if (side === 'next') this.#came.add(error)
          },
        )
        .catch(nobody)
      return promise
    }
    return byHand({
      next: () => step(() => flow.next()),
      return: (value) => step(() => flow.return(value), nobody),
      throw: (error) => step(() => flow.throw(error)),
    })
  }

  /** Called before a step begins or ends. */
  #tick(): void {
    const now = performance.now()
    if (this.#steps.wrap > 0 && this.#steps.next === 0) this.#longest = Math.max(this.#longest, now - this.#since)
    this.#since = now
  }
}

function nobody(): void {}
