/** What a wrap does by itself, apart from what its `next` does. It is looked at where only that decides whether the wrap has a span. */

import { byHand, type Flow } from '../flow/flow.ts'

export class OwnPart {
  #changed = false
  /** What `next` has returned or thrown. */
  readonly #came = new Set<unknown>()
  /** The event that `next` gave last, until the wrap gives it on. */
  #event: unknown
  /** How many steps are running. */
  readonly #steps = { wrap: 0, next: 0 }
  /** When that changed last, in `performance.now()`. */
  #since = 0
  #longest = 0

  /** It gave something else than it got. */
  get changed(): boolean {
    return this.#changed
  }

  /** For how many milliseconds it waited at once, at most, while its `next` was not running. */
  get waited(): number {
    this.#tick()
    return this.#longest
  }

  /** It got this from its `next`. */
  got(thrown: unknown): boolean {
    return this.#came.has(thrown)
  }

  /** What `next` made. `changed`: of something else than the wrap was given. */
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

  /** What the wrap made. */
  ofWrap<Event, Result>(flow: Flow<Event, Result>): Flow<Event, Result> {
    return this.#watched('wrap', flow, ({ done, value }) => {
      this.#changed ||= done ? this.#event !== undefined || !this.#came.has(value) : this.#event !== value
      this.#event = undefined
    })
  }

  /** `seen` is called with each step, until the flow is closed: before the one who asked for the step goes on, whom nothing delays. */
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
