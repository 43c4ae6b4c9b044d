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
  readonly #executing = new Set<Ticket>()
  readonly #waiting: Waiting[] = []

  set limit(limit: number) {
    this.#limit = limit
  }

  ticket(): Ticket {
    const ticket = {}
    this.#open.add(ticket)
    return ticket
  }

  /** Waits for a slot. Rejects with the signal's reason when it aborts before that. */
  async take(ticket: Ticket, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#mayGo(ticket)) {
      this.#executing.add(ticket)
      return
    }
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

  /** Gives the slot back; the ticket may take one again. */
  free(ticket: Ticket): void {
    this.#executing.delete(ticket)
    this.#advance()
  }

  /** The call is over: it holds nobody back any more. */
  close(ticket: Ticket): void {
    this.#open.delete(ticket)
    this.free(ticket)
  }

  #mayGo(ticket: Ticket): boolean {
    if (this.#executing.size >= this.#limit) return false
    return this.#limit > 1 || this.#open.values().next().value === ticket
  }

  #advance(): void {
    for (;;) {
      const index = this.#waiting.findIndex((waiting) => this.#mayGo(waiting.ticket))
      const [next] = index < 0 ? [] : this.#waiting.splice(index, 1)
      if (!next) return
      this.#executing.add(next.ticket)
      next.go()
    }
  }
}
