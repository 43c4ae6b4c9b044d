/** Who executes when: at most so many calls of a run at once, and of a tool at most as many as it allows. */

import type { Seat } from './tool-limit.ts'

/** A call's place in the order of calls, and at its tool if that has a limit. */
export interface Ticket {
  readonly seat: Seat | undefined
}

/**
 * With one slot calls execute strictly in call order: a ticket waits until all before it are closed, whatever comes to its slot
 * first (A22). With more, first come, first served. A call that waits for its tool holds no slot of the run meanwhile (H13).
 */
export class Slots {
  #limit = Number.POSITIVE_INFINITY
  readonly #open = new Set<Ticket>()
  /** A ticket per execution: a call may execute twice at once (C14). */
  #executing: Ticket[] = []
  readonly #held = new Set<Ticket>()
  /** Who waits for a slot of the run. Who waits for the tool alone is called back by that. */
  readonly #waiting = new Set<() => void>()

  get limit(): number {
    return this.#limit
  }

  set limit(limit: number) {
    this.#limit = limit
  }

  ticket(seat?: Seat): Ticket {
    const ticket = { seat }
    this.#open.add(ticket)
    return ticket
  }

  /** Waits for a slot. Rejects with the signal's reason when it aborts before that, and with what the tool's limit throws. */
  async take(ticket: Ticket, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#held.delete(ticket)) return
    if (this.#mayGo(ticket) && this.#goes(ticket)) return
    await new Promise<void>((resolve, reject) => {
      let waits = true
      const leave = () => {
        waits = false
        signal.removeEventListener('abort', aborted)
        this.#waiting.delete(attempt)
        unwatch?.()
      }
      const aborted = () => {
        leave()
        reject(signal.reason)
      }
      const attempt = () => {
        if (!waits) return
        try {
          if (!this.#mayGo(ticket)) {
            this.#waiting.add(attempt)
            return
          }
          this.#waiting.delete(attempt)
          if (!this.#goes(ticket)) return
          leave()
          resolve()
        } catch (error) {
          leave()
          reject(error)
        }
      }
      signal.addEventListener('abort', aborted, { once: true })
      const unwatch = ticket.seat?.watch(attempt)
      if (!this.#mayGo(ticket)) this.#waiting.add(attempt)
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
    ticket.seat?.free()
    this.#advance()
  }

  /** The call is over: it holds nobody back any more. */
  close(ticket: Ticket): void {
    this.#open.delete(ticket)
    this.#held.delete(ticket)
    this.#executing = this.#executing.filter((executing) => executing !== ticket)
    ticket.seat?.close()
    this.#advance()
  }

  #mayGo(ticket: Ticket): boolean {
    if (this.#executing.length >= this.#limit) return false
    return this.#limit > 1 || this.#open.values().next().value === ticket
  }

  #goes(ticket: Ticket): boolean {
    if (ticket.seat && !ticket.seat.take()) return false
    this.#executing.push(ticket)
    return true
  }

  #advance(): void {
    for (const attempt of this.#waiting) {
      if (this.#executing.length >= this.#limit) return
      attempt()
    }
  }
}
