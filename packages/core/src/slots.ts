/** Who executes when: so many calls of a run at once, so many of a tool, and in call order where they share a resource key. */

import { CallOrder, type Spot } from './call-order.ts'
import type { RunStop } from './errors.ts'
import { Line } from './line.ts'
import { allKeys, namesNone, type ResourceKeys } from './resource-keys.ts'
import type { Seat } from './tool-limit.ts'

/** A call as the queue sees it. When anything of it changes, the queue is told by {@link Slots.changed}. */
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
  /** Whether anything else of its call holds it back. */
  ready(): boolean
}

/** An execution's place. */
export interface Slot {
  readonly caller: Caller
  /** Once its input is checked. */
  claim: Claim | undefined
  /** It has a slot of its tool. */
  seated: boolean
}

/** An execution that waits. */
interface Waiter {
  readonly slot: Slot
  /** In order of arrival, among those of its run and among those of its tool. */
  readonly number: number
  readonly seatNumber: number
  readonly go: () => void
  readonly fail: (error: unknown) => void
  /** It no longer waits for what it waits for now. */
  leave: () => void
}

/** What is in an execution's way: a call, which may be its own; its tool's limit; or that its run has no slot. */
type Obstacle = Caller | Seat | 'slots'

/**
 * An execution goes through two gates. {@link take} gives it a slot of its run, in which its input is checked. Only then is
 * it known what it touches, and {@link begin} gives it its keys, a slot of its tool and its slot of the run: all at once,
 * or none. Whoever waits holds nothing, so that nobody waits for a waiting one in a circle, and no slot is idle while
 * another call may start (H13).
 *
 * A call waits for those in front of it in call order that name one of its keys, or may yet: their keys count until they
 * are over. A call behind it holds it back only while it works. With one slot it waits for all in front of it, whatever
 * comes to its slot first (A22). For the rest first come, first served.
 *
 * Whoever waits does so for one thing in its way, and is tried again only when that has changed: so many calls are not
 * tried so many times.
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
  /** Those of whom nothing is known but that there was no slot for them. */
  readonly #next: Line<Waiter> = new Line()
  #opened = 0
  #arrived = 0

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
    while (this.#taken.size < this.#limit) {
      const waiter = this.#next.shift()
      if (!waiter) return
      this.#try(waiter)
    }
  }

  /** Waits for a slot. Rejects with the signal's reason when it aborts before that, or when the call is stopped. */
  async take(ticket: Ticket, signal: AbortSignal): Promise<Slot> {
    signal.throwIfAborted()
    const kept = this.#kept.get(ticket)
    if (kept) {
      this.#kept.delete(ticket)
      kept.claim = undefined
      this.#change(kept.caller)
      return kept
    }
    const slot: Slot = { caller: this.#open.get(ticket) ?? new Caller(ticket), claim: undefined, seated: false }
    const obstacle = this.#goes(slot)
    if (obstacle) await this.#turn(slot, obstacle, signal)
    return slot
  }

  /**
   * The input is checked: waits until the execution may begin. Rejects with the signal's reason when it aborts before that,
   * when the call is stopped, and with what the tool's limit throws.
   */
  async begin(slot: Slot, claim: Claim, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { caller } = slot
    const { ticket } = caller
    this.#taken.delete(slot)
    caller.slots.delete(slot)
    ticket.keys = ticket.keys ? allKeys(ticket.keys, claim.keys) : claim.keys
    slot.claim = claim
    this.#change(caller)
    const obstacle = this.#goes(slot)
    if (obstacle) this.#release(slot)
    const turn = obstacle && this.#turn(slot, obstacle, signal)
    this.advance()
    if (!turn) return
    await turn
    // An abort lets others go before it comes to all.
    signal.throwIfAborted()
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

  /** The same; who waited because of the call is worth a try, and so are its own executions. */
  #change(caller: Caller, number?: number): void {
    this.#update(caller, number)
    for (const waiter of [...caller.holding, ...caller.waiting]) {
      waiter.leave()
      this.#wait(waiter, 'slots')
    }
  }

  /** Waits until the execution goes. */
  async #turn(slot: Slot, obstacle: Obstacle, signal: AbortSignal): Promise<void> {
    const { waiting, ticket } = slot.caller
    const seatNumber = ticket.seat?.arrive() ?? 0
    await new Promise<void>((resolve, reject) => {
      const out = () => {
        waiter.leave()
        waiting.delete(waiter)
        signal.removeEventListener('abort', abort)
      }
      const waiter: Waiter = {
        slot,
        number: ++this.#arrived,
        seatNumber,
        go() {
          out()
          resolve()
        },
        fail(error) {
          out()
          reject(error)
        },
        leave: () => undefined,
      }
      const abort = () => waiter.fail(signal.reason)
      signal.addEventListener('abort', abort, { once: true })
      waiting.add(waiter)
      this.#wait(waiter, obstacle)
    })
  }

  #wait(waiter: Waiter, obstacle: Obstacle): void {
    if (obstacle === 'slots') {
      this.#next.add(waiter)
      waiter.leave = () => this.#next.delete(waiter)
    } else if (obstacle instanceof Caller) {
      obstacle.holding.add(waiter)
      waiter.leave = () => obstacle.holding.delete(waiter)
    } else {
      waiter.leave = obstacle.watch(waiter.seatNumber, () => {
        // One that arrived before it may wait for a slot by now.
        this.#wait(waiter, 'slots')
        this.advance()
      })
    }
  }

  #try(waiter: Waiter): void {
    try {
      const obstacle = this.#goes(waiter.slot)
      if (obstacle) this.#wait(waiter, obstacle)
      else waiter.go()
    } catch (error) {
      waiter.fail(error)
    }
  }

  /** Takes all that the execution needs next; if it may not have it, gives what is in its way. */
  #goes(slot: Slot): Obstacle | undefined {
    const { caller, claim } = slot
    const { ticket } = caller
    if (ticket.aside) return caller
    const front = this.#inFrontOf(slot)
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

  /** The call it has to come after. Throws what that was stopped by, when it stands that both are made. */
  #inFrontOf({ caller, claim }: Slot): Caller | undefined {
    if (this.#limit > 1 && (!claim || namesNone(claim.keys))) return undefined
    const front = this.#order.inFrontOf(caller, this.#limit === 1 || !claim ? 'all' : claim.keys)
    const stopped = front?.ticket.provisional === false && front.ticket.stopped
    if (stopped && !caller.ticket.provisional) throw stopped
    return front
  }
}

/** A call in the queue. */
class Caller implements Spot {
  readonly ticket: Ticket
  number: number = Number.POSITIVE_INFINITY
  keys: ResourceKeys | undefined
  isAtWork = false
  /** The slots its executions have. */
  readonly slots: Set<Slot> = new Set()
  /** Its executions that wait. */
  readonly waiting: Set<Waiter> = new Set()
  /** Executions in whose way it is. */
  readonly holding: Set<Waiter> = new Set()

  constructor(ticket: Ticket) {
    this.ticket = ticket
  }

  get isAside(): boolean {
    return this.ticket.aside
  }

  update(number: number): void {
    this.number = number
    this.keys = this.ticket.keys
    this.isAtWork = false
    for (const { claim } of this.slots) if (claim) this.isAtWork = true
  }
}
