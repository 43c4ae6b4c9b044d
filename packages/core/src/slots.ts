/** Who executes when: at most so many calls of a run at once, and in call order where they name the same resource key. */

import { allKeys, keysMeet, namesNone, type ResourceKeys } from './resource-keys.ts'

/** A call as the queue sees it. */
export interface Ticket {
  /** What its executions touch. Not known until its input is checked, unless its tool names no keys. */
  keys: ResourceKeys | undefined
  /** Nobody asks for it at present: it does not start, and what waits does not wait for its turn. */
  readonly aside: boolean
}

/** What an execution needs beside a slot, once its input is checked. */
interface Needs {
  readonly keys: ResourceKeys
  /** Whether anything else holds it back. */
  ready(): boolean
}

interface Waiting {
  readonly slot: Slot
  readonly go: () => void
}

/**
 * An execution takes a slot before its input is checked, and says then which keys it touches. If these are not free it gives the
 * slot back and waits for both, so that no slot is idle while another call may start (H13).
 *
 * A call waits for those in front of it in call order that name one of its keys, or may yet: their keys count until they are over.
 * A call behind it holds it back only while it works. With one slot calls execute strictly in call order: each waits until all
 * before it are over, whatever comes to its slot first (A22). With more, first come, first served.
 */
export class Slots {
  #limit = Number.POSITIVE_INFINITY
  /** Calls that are not over, in call order. */
  readonly #open = new Set<Ticket>()
  /** One per execution: a call may execute twice at once (C14). */
  readonly #taken = new Set<Slot>()
  /** Slots of calls that threw what ends their run. */
  readonly #kept = new Map<Ticket, Slot>()
  readonly #waiting = new Set<Waiting>()

  set limit(limit: number) {
    this.#limit = limit
  }

  /** A call gets its place in call order, behind all others. */
  open(ticket: Ticket): void {
    this.#open.delete(ticket)
    this.#open.add(ticket)
  }

  /** The same, for a call that may be over. */
  moveBack(ticket: Ticket): void {
    if (this.#open.has(ticket)) this.open(ticket)
  }

  /** Waits for a slot. Rejects with the signal's reason when it aborts before that. */
  async take(ticket: Ticket, signal: AbortSignal): Promise<Slot> {
    signal.throwIfAborted()
    const kept = this.#kept.get(ticket)
    if (kept) {
      this.#kept.delete(ticket)
      kept.needs = undefined
      return kept
    }
    const slot: Slot = { ticket, needs: undefined }
    if (this.#mayGo(slot)) this.#taken.add(slot)
    else await this.#turn(slot, signal)
    return slot
  }

  /** The input is checked: waits until the execution may begin. Rejects with the signal's reason when it aborts before that. */
  async begin(slot: Slot, needs: Needs, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { ticket } = slot
    ticket.keys = ticket.keys ? allKeys(ticket.keys, needs.keys) : needs.keys
    slot.needs = needs
    this.#taken.delete(slot)
    const goes = this.#mayGo(slot)
    if (goes) this.#taken.add(slot)
    this.advance()
    if (goes) return
    await this.#turn(slot, signal)
    // An abort lets others go before it comes to all.
    signal.throwIfAborted()
  }

  /** The call threw what ends its run: it keeps its slot until it is over, so that nothing starts in it any more (A12). */
  keep(slot: Slot): void {
    this.#kept.set(slot.ticket, slot)
  }

  /** Gives the slot back. */
  free(slot: Slot): void {
    if (this.#kept.get(slot.ticket) === slot) return
    this.#taken.delete(slot)
    this.advance()
  }

  /** The call is over: it holds nobody back any more. */
  close(ticket: Ticket): void {
    this.#open.delete(ticket)
    this.#kept.delete(ticket)
    for (const slot of this.#taken) if (slot.ticket === ticket) this.#taken.delete(slot)
    this.advance()
  }

  /** Lets go whoever may. To be called when a ticket has changed. */
  advance(): void {
    for (const waiting of this.#waiting) {
      if (!this.#mayGo(waiting.slot)) continue
      this.#waiting.delete(waiting)
      this.#taken.add(waiting.slot)
      waiting.go()
    }
  }

  async #turn(slot: Slot, signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(waiting)
        reject(signal.reason)
      }
      const waiting = {
        slot,
        go: () => {
          signal.removeEventListener('abort', leave)
          resolve()
        },
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#waiting.add(waiting)
    })
  }

  #mayGo({ ticket, needs }: Slot): boolean {
    if (this.#taken.size >= this.#limit || ticket.aside) return false
    if (this.#limit === 1 && this.#first() !== ticket) return false
    return needs === undefined || (needs.ready() && this.#areFree(needs.keys, ticket))
  }

  #first(): Ticket | undefined {
    for (const ticket of this.#open) if (!ticket.aside) return ticket
    return undefined
  }

  #areFree(keys: ResourceKeys, ticket: Ticket): boolean {
    if (namesNone(keys)) return true
    const meets = (other: Ticket) => other !== ticket && (!other.keys || keysMeet(other.keys, keys))
    for (const other of this.#open) {
      if (other === ticket) break
      if (!other.aside && meets(other)) return false
    }
    for (const other of this.#taken) if (other.needs && meets(other.ticket)) return false
    return true
  }
}

/** An execution's place. */
export interface Slot {
  readonly ticket: Ticket
  /** Once its input is checked. */
  needs: Needs | undefined
}
