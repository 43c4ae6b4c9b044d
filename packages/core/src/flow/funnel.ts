/** Joins the events of everything at work in a run into one stream, in the order in which they happen. */

import { wrapLeft } from './follow.ts'

export class Funnel<Event> {
  readonly #sink: (event: Event) => void
  readonly #queue: Event[] = []
  #isPulled = false
  #isLeft = false
  #give: ((event: Event) => void) | undefined
  #goOn: () => void = () => undefined

  /** `sink` is given what nobody pulls. */
  constructor(sink: (event: Event) => void) {
    this.#sink = sink
  }

  push(event: Event): void {
    const give = this.#give
    this.#give = undefined
    if (give) give(event)
    else if (this.#isPulled || this.#queue.length > 0) this.#queue.push(event)
    else this.#sink(event)
  }

  /**
   * Waits until whoever pulls has taken what was pushed, and asks for more, so that nothing piles up. Throws when that has left.
   * Absent where there is nothing to wait for. For one at a time: the loop waits for each.
   */
  taken(): Promise<void> | undefined {
    if (!this.#isPulled || (this.#give && !this.#isLeft)) return undefined
    return new Promise((resolve, reject) => {
      // Not made where it is assigned to a member: V8 would keep it, and the run, until the next full collection.
      const goOn = () => (this.#isLeft ? reject(wrapLeft()) : resolve())
      this.#goOn = goOn
      if (this.#isLeft) goOn()
    })
  }

  /** From now on events are for the caller, if it is the first: it asks for each and says when it is over. */
  claim(): boolean {
    if (this.#isPulled) return false
    this.#isPulled = true
    return true
  }

  /** An event that waits. */
  take(): Event | undefined {
    return this.#queue.shift()
  }

  /** The next event is given to `give`; work that waits for this goes on. */
  ask(give: (event: Event) => void): void {
    this.#give = give
    this.#goOn()
  }

  /** Whoever pulls takes nothing more. It may be told so only later: a generator that waits can be closed only when that has come. */
  leave(): void {
    if (!this.#isPulled) return
    this.#isLeft = true
    this.#goOn()
  }

  /** The claim is over. */
  release(): void {
    this.#isPulled = false
    this.#isLeft = false
    this.#give = undefined
  }

  /** What was pushed and nobody took. */
  drain(): Event[] {
    return this.#queue.splice(0)
  }
}
