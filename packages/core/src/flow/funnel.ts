/** Joins the events of everything that runs in a run into one stream, in the order in which they happen. */

import { wrapLeft } from './follow.ts'

export class Funnel<Event> {
  readonly #sink: (event: Event) => void
  readonly #queue: Event[] = []
  #isPulled = false
  #isLeft = false
  #give: ((event: Event) => void) | undefined
  #goOn: () => void = () => undefined

  /** `sink` receives the events that no reader pulls. */
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
   * Waits until the reader has taken what was pushed and asks for more, so that no buffer grows. Throws when the reader has left. Returns nothing if
   * there is nothing to wait for. Only one caller may wait at a time: the loop, which waits for each event.
   */
  taken(): Promise<void> | undefined {
    if (!this.#isPulled || (this.#give && !this.#isLeft)) return undefined
    return new Promise((resolve, reject) => {
      // A closure that is assigned directly to a member would be kept by V8, with the whole run, until the next full garbage collection.
      const goOn = () => (this.#isLeft ? reject(wrapLeft()) : resolve())
      this.#goOn = goOn
      if (this.#isLeft) goOn()
    })
  }

  /** Reserves the events for the caller, if it is the first. The caller asks for each event and calls {@link release} at the end. */
  claim(): boolean {
    if (this.#isPulled) return false
    this.#isPulled = true
    return true
  }

  /** The first waiting event. */
  take(): Event | undefined {
    return this.#queue.shift()
  }

  /** Passes the next event to `give`. Work that waits for this continues. */
  ask(give: (event: Event) => void): void {
    this.#give = give
    this.#goOn()
  }

  /** Called when the reader takes no more events. Its generator may close later, because a generator that waits cannot be closed at once. */
  leave(): void {
    if (!this.#isPulled) return
    this.#isLeft = true
    this.#goOn()
  }

  /** Ends the reservation. */
  release(): void {
    this.#isPulled = false
    this.#isLeft = false
    this.#give = undefined
  }

  /** The events that were pushed and not taken. */
  drain(): Event[] {
    return this.#queue.splice(0)
  }
}
