/** Who executes when: so many calls of a run at once, so many of a tool, and in call order where they share a resource key. */

import type { RunStop } from './errors.ts'
import { allKeys, keysMeet, namesNone, type ResourceKeys } from './resource-keys.ts'
import type { Seat } from './tool-limit.ts'

/** A call as the queue sees it. */
export interface Ticket {
  /** What its executions touch. Not known until its input is checked, unless its tool names no keys. */
  keys: ResourceKeys | undefined
  /** Its place at its tool, if that has a limit. */
  readonly seat: Seat | undefined
  /** Nobody asks for it at present: it does not start, and what waits does not wait for its turn. */
  readonly aside: boolean
  /** Its model call has not stood: what would end it waits until then. */
  readonly provisional: boolean
  /** It stays open, to be made after a resume, and so does what would have to come after it. */
  readonly stopped: RunStop | undefined
}

/** What an execution claims beside a slot, once its input is checked. */
interface Claim {
  readonly keys: ResourceKeys
  /** Whether anything else holds it back. */
  ready(): boolean
}

/** An execution's place. */
export interface Slot {
  readonly ticket: Ticket
  /** Once its input is checked. */
  claim: Claim | undefined
  /** It has a slot of its tool. */
  seated: boolean
}

/**
 * An execution goes through two gates. {@link take} gives it a slot of its run, in which its input is checked. Only then is
 * it known what it touches, and {@link begin} gives it its keys, a slot of its tool and its slot of the run: all at once,
 * or none. Whoever waits holds nothing, so that nobody waits for a waiting one in a circle, and no slot is idle while
 * another call may start (H13).
 *
 * A call waits for those in front of it in call order that name one of its keys, or may yet: their keys count until they
 * are over. A call behind it holds it back only while it works. With one slot it waits for all in front of it, whatever
 * comes to its slot first (A22). For the rest first come, first served.
 */
export class Slots {
  #limit = Number.POSITIVE_INFINITY
  /** Calls that are not over, in call order. */
  readonly #open = new Set<Ticket>()
  /** One per execution: a call may execute twice at once (C14). */
  readonly #taken = new Set<Slot>()
  /** Slots of calls that threw what ends their run. */
  readonly #kept = new Map<Ticket, Slot>()
  /** One per execution that waits, in order of arrival. */
  readonly #waiting = new Set<() => void>()

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

  /** Waits for a slot. Rejects with the signal's reason when it aborts before that, or when the call is stopped. */
  async take(ticket: Ticket, signal: AbortSignal): Promise<Slot> {
    signal.throwIfAborted()
    const kept = this.#kept.get(ticket)
    if (kept) {
      this.#kept.delete(ticket)
      kept.claim = undefined
      return kept
    }
    const slot: Slot = { ticket, claim: undefined, seated: false }
    if (!this.#goes(slot)) await this.#turn(slot, signal)
    return slot
  }

  /**
   * The input is checked: waits until the execution may begin. Rejects with the signal's reason when it aborts before that,
   * when the call is stopped, and with what the tool's limit throws.
   */
  async begin(slot: Slot, claim: Claim, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { ticket } = slot
    ticket.keys = ticket.keys ? allKeys(ticket.keys, claim.keys) : claim.keys
    slot.claim = claim
    this.#taken.delete(slot)
    const goes = this.#goes(slot)
    if (!goes) this.#release(slot)
    this.advance()
    if (goes) return
    await this.#turn(slot, signal)
    // An abort lets others go before it comes to all.
    signal.throwIfAborted()
  }

  /** The call threw what ends its run: it keeps its slot until it is over, so that nothing starts in it any more (A12). */
  keep(slot: Slot): void {
    if (this.#taken.has(slot)) this.#kept.set(slot.ticket, slot)
  }

  /** Gives the slot back. More than once does nothing. */
  free(slot: Slot): void {
    if (this.#kept.get(slot.ticket) === slot) return
    this.#release(slot)
    this.advance()
  }

  /** The call is over: it holds nobody back any more. One that was stopped keeps its place, but nothing else. */
  close(ticket: Ticket): void {
    if (!ticket.stopped) this.#open.delete(ticket)
    this.#kept.delete(ticket)
    for (const slot of this.#taken) if (slot.ticket === ticket) this.#release(slot)
    this.advance()
  }

  /** Lets go whoever may. To be called when a ticket has changed. */
  advance(): void {
    for (const attempt of this.#waiting) attempt()
  }

  #release(slot: Slot): void {
    this.#taken.delete(slot)
    if (!slot.seated) return
    slot.seated = false
    slot.ticket.seat?.free()
  }

  /** Waits until the execution goes. It is tried when something changes in its run, and when its tool has a slot for it. */
  async #turn(slot: Slot, signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(attempt)
        unwatch?.()
        signal.removeEventListener('abort', abort)
      }
      const abort = () => {
        leave()
        reject(signal.reason)
      }
      const attempt = () => {
        try {
          if (!this.#goes(slot)) return
          resolve()
        } catch (error) {
          reject(error)
        }
        leave()
      }
      signal.addEventListener('abort', abort, { once: true })
      this.#waiting.add(attempt)
      const unwatch = slot.claim && slot.ticket.seat?.watch(attempt)
    })
  }

  /** Takes all that the execution needs next, if it may have it. */
  #goes(slot: Slot): boolean {
    const { ticket, claim } = slot
    if (ticket.aside || this.#waitsForFront(slot)) return false
    if (this.#taken.size >= this.#limit) return false
    if (claim && !(claim.ready() && this.#areIdle(claim.keys, ticket))) return false
    // The tool's slot comes last: to ask for it is to take it.
    if (claim && ticket.seat && !slot.seated) {
      if (!ticket.seat.take()) return false
      slot.seated = true
    }
    this.#taken.add(slot)
    return true
  }

  /** Whether it has to come after a call in front of it. Throws what that was stopped by, when it stands that both are made. */
  #waitsForFront({ ticket, claim }: Slot): boolean {
    if (this.#limit > 1 && (!claim || namesNone(claim.keys))) return false
    for (const other of this.#open) {
      if (other === ticket) return false
      if (other.aside || !(this.#limit === 1 || mayMeet(other, claim?.keys))) continue
      if (other.stopped && !other.provisional && !ticket.provisional) throw other.stopped
      return true
    }
    return false
  }

  /** Whether no other call is at work on one of these keys. */
  #areIdle(keys: ResourceKeys, ticket: Ticket): boolean {
    if (namesNone(keys)) return true
    for (const { ticket: other, claim } of this.#taken)
      if (claim && other !== ticket && mayMeet(other, keys)) return false
    return true
  }
}

function mayMeet(other: Ticket, keys: ResourceKeys | undefined): boolean {
  return !keys || !other.keys || keysMeet(other.keys, keys)
}
