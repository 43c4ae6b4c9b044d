/** Who executes when: each execution waits here until nothing holds it back and there is a slot. */

import { follow } from '../flow/follow.ts'
import { throwIfAborted } from '../flow/throw-if-aborted.ts'
import { allKeys, type ResourceKeys } from '../machine/resource-keys.ts'
import { type Claim, obstacleOf, type Scheduled, type Turn } from '../machine/schedule.ts'
import type { Seat } from './tool-limit.ts'

/** A call, as the slots of its run see it. When anything of it changes, they are told by {@link Slots.changed}. */
export interface Ticket extends Scheduled {
  keys: ResourceKeys | undefined
  executing: number
  /** Its place at its tool, if the tool has a limit. */
  readonly seat: Seat | undefined
}

/** An execution's place: it waits, or has a slot. */
export interface Slot extends Turn<Ticket> {
  claim: Claim | undefined
  /** Gives back its slot of its tool, if it has one. */
  unseat: (() => void) | undefined
}

/** An execution that waits. */
interface Waiter {
  readonly slot: Slot
  /** As long as nothing of this call changes, it waits. */
  heldBack: Ticket | undefined
  /** Since when it waits for its tool, among all executions that do. */
  readonly seatNumber: number
  /** While its tool is to tell it of a free slot: takes that back. */
  unwatch: (() => void) | undefined
  go(): void
  fail(error: unknown): void
}

export class Slots {
  #limit = Number.POSITIVE_INFINITY
  /** Calls that are not over, in call order. */
  readonly #order: Ticket[] = []
  /** Executions that have a slot. A call may execute twice at once (C14). */
  readonly #taken = new Set<Slot>()
  /** Slots of calls that threw what ends their run. */
  readonly #kept = new Map<Ticket, Slot>()
  /** In order of arrival. */
  readonly #waiting = new Set<Waiter>()
  /** Calls of which something has changed since the waiting executions were looked at. */
  readonly #changed = new Set<Ticket>()

  set limit(limit: number) {
    this.#limit = limit
  }

  /** A call gets its place in call order, behind all others. */
  open(ticket: Ticket): void {
    this.#leave(ticket)
    this.#order.push(ticket)
    this.changed(ticket)
  }

  /** The same, for a call that may be over. */
  moveBack(ticket: Ticket): void {
    if (this.#order.includes(ticket)) this.open(ticket)
  }

  /** Something of a call has changed: {@link advance} is to follow. */
  changed(ticket: Ticket): void {
    if (this.#waiting.size > 0) this.#changed.add(ticket)
  }

  /** Lets go whoever may, in order of arrival. */
  advance(): void {
    for (const waiter of this.#waiting) {
      const { slot, heldBack, unwatch } = waiter
      if (!this.#changed.has(slot.call)) {
        if (heldBack ? !this.#changed.has(heldBack) : this.#isFull || unwatch) continue
      }
      this.#look(waiter)
    }
    this.#changed.clear()
  }

  /** Waits for a slot. Rejects with a signal's reason when one aborts before that, or when the call is stopped. */
  async take(ticket: Ticket, signals: readonly AbortSignal[]): Promise<Slot> {
    throwIfAborted(signals)
    const kept = this.#kept.get(ticket)
    if (kept) {
      this.#kept.delete(ticket)
      if (kept.claim) ticket.executing--
      kept.claim = undefined
      this.changed(ticket)
      return kept
    }
    const slot: Slot = { call: ticket, claim: undefined, unseat: undefined }
    const turn = this.#turn(slot, signals)
    if (turn) await turn
    return slot
  }

  /**
   * The input is checked: waits until the execution may begin. Rejects with a signal's reason when one aborts before that,
   * when the call is stopped, and with what the tool's limit throws.
   */
  async begin(slot: Slot, claim: Claim, signals: readonly AbortSignal[]): Promise<void> {
    throwIfAborted(signals)
    const { call } = slot
    this.#release(slot)
    slot.claim = claim
    call.keys = call.keys ? allKeys(call.keys, claim.keys) : claim.keys
    this.changed(call)
    const turn = this.#turn(slot, signals)
    this.advance()
    if (!turn) return
    await turn
    // An abort lets others go before it comes to all.
    throwIfAborted(signals)
  }

  /** The call threw what ends the run: it keeps its slot until it is over, so that nothing starts in it any more (A12). */
  keep(slot: Slot): void {
    if (this.#taken.has(slot)) this.#kept.set(slot.call, slot)
  }

  /** Gives the slot back. More than once does nothing. */
  free(slot: Slot): void {
    if (this.#kept.get(slot.call) === slot) return
    this.#release(slot)
    this.advance()
  }

  /** The call is over: it holds nobody back any more. One that was stopped keeps its place, but nothing else. */
  close(ticket: Ticket): void {
    this.#kept.delete(ticket)
    if (!ticket.stopped) this.#leave(ticket)
    this.changed(ticket)
    // Whatever else they wait for.
    if (ticket.stopped) for (const { slot } of this.#waiting) this.changed(slot.call)
    for (const slot of this.#taken) if (slot.call === ticket) this.#release(slot)
    this.advance()
  }

  get #isFull(): boolean {
    return this.#taken.size >= this.#limit
  }

  #leave(ticket: Ticket): void {
    const place = this.#order.indexOf(ticket)
    if (place >= 0) this.#order.splice(place, 1)
  }

  /** Lets an execution go at once, or gives its wait. Throws what stops it. */
  #turn(slot: Slot, signals: readonly AbortSignal[]): Promise<void> | undefined {
    const obstacle = obstacleOf(slot, this.#order, this.#limit)
    if (obstacle?.stopped) throw obstacle.stopped
    if (obstacle || this.#isFull || !this.#seat(slot)) return this.#wait(slot, obstacle?.call, signals)
    slot.call.seat?.share()
    return undefined
  }

  #look(waiter: Waiter): void {
    const { slot, seatNumber } = waiter
    waiter.unwatch?.()
    waiter.unwatch = undefined
    const obstacle = obstacleOf(slot, this.#order, this.#limit)
    waiter.heldBack = obstacle?.call
    if (obstacle?.stopped) waiter.fail(obstacle.stopped)
    if (obstacle || this.#isFull) return
    try {
      if (this.#seat(slot)) {
        waiter.go()
        slot.call.seat?.share()
      } else {
        waiter.unwatch = slot.call.seat?.watch(seatNumber, () => {
          waiter.unwatch = undefined
          this.advance()
        })
      }
    } catch (error) {
      waiter.fail(error)
    }
  }

  /** Takes all that an execution needs, or nothing. The tool's slot comes last: to ask for it is to take it. */
  #seat(slot: Slot): boolean {
    const { call, claim } = slot
    if (claim && call.seat && !slot.unseat) {
      slot.unseat = call.seat.take()
      if (!slot.unseat) return false
    }
    this.#taken.add(slot)
    if (claim) call.executing++
    return true
  }

  #release(slot: Slot): void {
    const { call, claim } = slot
    if (this.#taken.delete(slot) && claim) {
      call.executing--
      this.changed(call)
    }
    const { unseat } = slot
    slot.unseat = undefined
    // Last: whoever waits for the tool is tried at once.
    unseat?.()
  }

  #wait(slot: Slot, heldBack: Ticket | undefined, signals: readonly AbortSignal[]): Promise<void> {
    const seatNumber = slot.call.seat?.arrive() ?? 0
    return new Promise<void>((resolve, reject) => {
      const abort = () => waiter.fail(signals.find(({ aborted }) => aborted)?.reason)
      const out = () => {
        waiter.unwatch?.()
        this.#waiting.delete(waiter)
        for (const unfollow of following) unfollow()
      }
      const waiter: Waiter = {
        slot,
        heldBack,
        seatNumber,
        unwatch: undefined,
        go() {
          out()
          resolve()
        },
        fail(error) {
          out()
          reject(error)
        },
      }
      const following = signals.map((signal) => follow(signal, abort))
      this.#waiting.add(waiter)
    })
  }
}
