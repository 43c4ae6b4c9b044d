/** Who executes when: at most so many calls of a run at once. */

/** A call's place in the order of calls. */
export type Ticket = object

interface Waiting {
  readonly ticket: Ticket
  readonly go: () => void
}

/**
 * With one slot calls execute strictly in call order: a ticket waits until all before it are closed, whatever comes to its slot
 * first (A22). With more, first come, first served.
 */
export class Slots {
  #limit = Number.POSITIVE_INFINITY
  readonly #open = new Set<Ticket>()
  /** A ticket per execution: a call may execute twice at once (C14). */
  #executing: Ticket[] = []
  readonly #held = new Set<Ticket>()
  readonly #waiting: Waiting[] = []

  get limit(): number {
    return this.#limit
  }

  set limit(limit: number) {
    this.#limit = limit
  }

  ticket(): Ticket {
    const ticket = {}
    this.#open.add(ticket)
    return ticket
  }

  /** Waits for a slot. Rejects with a signal's reason when one aborts before that. */
  async take(ticket: Ticket, ...signals: readonly AbortSignal[]): Promise<void> {
    for (const signal of signals) signal.throwIfAborted()
    if (this.#held.delete(ticket)) return
    if (this.#mayGo(ticket)) {
      this.#executing.push(ticket)
      return
    }
    const signal = AbortSignal.any([...signals])
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        reject(signal.reason)
      }
      const waiting = {
        ticket,
        go: () => {
          signal.removeEventListener('abort', leave)
          resolve()
        },
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#waiting.push(waiting)
    })
  }

  /** The call threw what ends its run: it keeps its slot until it is over, so that nothing starts in it any more (A12). */
  hold(ticket: Ticket): void {
    this.#held.add(ticket)
  }

  /** Gives the slot back; the ticket may take one again. */
  free(ticket: Ticket): void {
    if (this.#held.has(ticket)) return
    const index = this.#executing.indexOf(ticket)
    if (index >= 0) this.#executing.splice(index, 1)
    this.#advance()
  }

  /** The call is over: it holds nobody back any more. */
  close(ticket: Ticket): void {
    this.#open.delete(ticket)
    this.#held.delete(ticket)
    this.#executing = this.#executing.filter((executing) => executing !== ticket)
    this.#advance()
  }

  #mayGo(ticket: Ticket): boolean {
    if (this.#executing.length >= this.#limit) return false
    return this.#limit > 1 || this.#open.values().next().value === ticket
  }

  #advance(): void {
    for (;;) {
      const index = this.#waiting.findIndex((waiting) => this.#mayGo(waiting.ticket))
      const [next] = index < 0 ? [] : this.#waiting.splice(index, 1)
      if (!next) return
      this.#executing.push(next.ticket)
      next.go()
    }
  }
}
