/** Who executes when: so many calls of a run at once, so many of a tool, and in call order where they share a resource key. */

import type { RunStop } from '../errors.ts'
import { throwIfAborted } from '../flow/throw-if-aborted.ts'
import { CallOrder } from './call-order.ts'
import { Caller, type Claim, type Slot, type Ticket } from './caller.ts'
import { allKeys, namesNone, type ResourceKeys } from './resource-keys.ts'
import { type Obstacle, Turns } from './turns.ts'

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
  readonly #order: CallOrder<Caller> = new CallOrder()
  /** Calls that are not over. */
  readonly #open: Map<Ticket, Caller> = new Map()
  /** One per execution: a call may execute twice at once (C14). */
  readonly #taken = new Set<Slot>()
  /** Slots of calls that threw what ends their run. */
  readonly #kept = new Map<Ticket, Slot>()
  readonly #turns = new Turns({
    isFull: () => this.#taken.size >= this.#limit,
    goes: (slot) => this.#goes(slot),
  })
  #opened = 0

  set limit(limit: number) {
    this.#limit = limit
  }

  /** A call gets its place in call order, behind all others. */
  open(ticket: Ticket): void {
    const caller = this.#open.get(ticket) ?? new Caller(ticket)
    this.#open.set(ticket, caller)
    this.#change(caller, ++this.#opened)
  }

  /** The same, for a call that may be over. */
  moveBack(ticket: Ticket): void {
    if (this.#open.has(ticket)) this.open(ticket)
  }

  /** Something of a call has changed: {@link advance} is to follow. */
  changed(ticket: Ticket): void {
    const caller = this.#open.get(ticket)
    if (caller) this.#change(caller)
  }

  /** Lets go whoever may, in order of arrival. */
  advance(): void {
    this.#turns.advance()
  }

  /** Waits for a slot. Rejects with a signal's reason when one aborts before that, or when the call is stopped. */
  async take(ticket: Ticket, signals: readonly AbortSignal[]): Promise<Slot> {
    throwIfAborted(signals)
    const kept = this.#kept.get(ticket)
    if (kept) {
      this.#kept.delete(ticket)
      kept.claim = undefined
      this.#change(kept.caller)
      return kept
    }
    const slot: Slot = { caller: this.#open.get(ticket) ?? new Caller(ticket), claim: undefined, seated: false }
    const obstacle = this.#goes(slot)
    if (obstacle) await this.#turns.wait(slot, obstacle, signals)
    return slot
  }

  /**
   * The input is checked: waits until the execution may begin. Rejects with a signal's reason when one aborts before that,
   * when the call is stopped, and with what the tool's limit throws.
   */
  async begin(slot: Slot, claim: Claim, signals: readonly AbortSignal[]): Promise<void> {
    throwIfAborted(signals)
    const { caller } = slot
    const { ticket } = caller
    this.#taken.delete(slot)
    caller.slots.delete(slot)
    ticket.keys = ticket.keys ? allKeys(ticket.keys, claim.keys) : claim.keys
    slot.claim = claim
    this.#change(caller)
    const obstacle = this.#goes(slot)
    if (obstacle) this.#release(slot)
    const turn = obstacle && this.#turns.wait(slot, obstacle, signals)
    this.advance()
    if (!turn) return
    await turn
    // An abort lets others go before it comes to all.
    throwIfAborted(signals)
  }

  /** The call threw what ends its run: it keeps its slot until it is over, so that nothing starts in it any more (A12). */
  keep(slot: Slot): void {
    if (this.#taken.has(slot)) this.#kept.set(slot.caller.ticket, slot)
  }

  /** Gives the slot back. More than once does nothing. */
  free(slot: Slot): void {
    if (this.#kept.get(slot.caller.ticket) === slot) return
    this.#release(slot)
    this.advance()
  }

  /** The call is over: it holds nobody back any more. One that was stopped keeps its place, but nothing else. */
  close(ticket: Ticket): void {
    this.#kept.delete(ticket)
    const caller = this.#open.get(ticket)
    if (caller) {
      if (!ticket.stopped) this.#open.delete(ticket)
      this.#change(caller, ticket.stopped ? caller.number : Number.POSITIVE_INFINITY)
      // Last: who waits for its tool is tried at once.
      for (const slot of caller.slots) this.#release(slot)
    }
    // Whatever else they wait for.
    if (ticket.stopped) this.#turns.end((slot) => this.#stopOf(slot))
    this.advance()
  }

  #release(slot: Slot): void {
    const { caller } = slot
    this.#taken.delete(slot)
    if (caller.slots.delete(slot)) this.#change(caller)
    if (!slot.seated) return
    slot.seated = false
    caller.ticket.seat?.free()
  }

  /** The order of calls knows what has changed of one. */
  #update(caller: Caller, number = caller.number): void {
    this.#order.delete(caller)
    caller.update(number)
    this.#order.add(caller)
  }

  /** The same, and so do those who wait. */
  #change(caller: Caller, number?: number): void {
    this.#update(caller, number)
    this.#turns.changed(caller)
  }

  /** Takes all that the execution needs next; if it may not have it, gives what is in its way. Throws what stops it. */
  #goes(slot: Slot): Obstacle | undefined {
    const { caller, claim } = slot
    const { ticket } = caller
    if (ticket.aside) return caller
    const stop = this.#stopOf(slot)
    if (stop) throw stop
    const keys = this.#keysOf(slot)
    const front = keys && this.#order.inFrontOf(caller, keys, 'open', isAwaited)
    if (front) return front
    if (this.#taken.size >= this.#limit) return 'slots'
    if (claim && !claim.ready()) return caller
    const busy = claim && this.#order.atWorkOn(caller, claim.keys)
    if (busy) return busy
    // The tool's slot comes last: to ask for it is to take it.
    if (claim && ticket.seat && !slot.seated) {
      if (!ticket.seat.take()) return ticket.seat
      slot.seated = true
    }
    this.#taken.add(slot)
    caller.slots.add(slot)
    this.#update(caller)
    return undefined
  }

  /** What a call in front of the execution was stopped by, when it stands that both are made. */
  #stopOf(slot: Slot): RunStop | undefined {
    const { caller } = slot
    const keys = stands(caller) && this.#keysOf(slot)
    return keys ? this.#order.inFrontOf(caller, keys, 'stopped', stands)?.ticket.stopped : undefined
  }

  /** By which keys an execution comes after others, if it does. */
  #keysOf({ claim }: Slot): ResourceKeys | 'all' | undefined {
    if (this.#limit === 1) return 'all'
    return claim && !namesNone(claim.keys) ? claim.keys : undefined
  }
}

function isAwaited({ ticket }: Caller): boolean {
  return !ticket.aside
}

function stands({ ticket }: Caller): boolean {
  return !ticket.aside && !ticket.provisional
}
