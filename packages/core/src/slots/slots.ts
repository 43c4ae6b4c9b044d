/** Who executes when: each execution waits here until nothing holds it back and there is a slot. */

import { follow } from '../flow/follow.ts'
import { throwIfAborted } from '../flow/throw-if-aborted.ts'
import { type CallState, type Does, executionOf, hasSettled, type Stage } from '../machine/call.ts'
import { moved, out } from '../machine/decide-call.ts'
import type { Invocation } from '../machine/invocation.ts'
import { type Obstacle, obstacleOf, type Scheduled } from '../machine/schedule.ts'
import type { Seat } from './tool-limit.ts'

/** A call, as the slots of its run see it. When anything of it changes, they are told by {@link Slots.changed}. */
export interface Ticket extends Scheduled {
  readonly state: CallState
  decide<Given extends readonly unknown[]>(
    fact: (call: CallState, ...given: Given) => CallState,
    ...given: Given
  ): boolean
  /** Its place at its tool, if the tool has a limit. */
  readonly seat: Seat | undefined
}

/** An execution's place: it waits, or has a slot. */
export interface Slot {
  readonly call: Ticket
  readonly invocation: Invocation
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
  async take(call: Ticket, invocation: Invocation, signals: readonly AbortSignal[]): Promise<Slot> {
    throwIfAborted(signals)
    const isKept = call.state.executions.some(({ stage }) => stage === 'threw')
    const kept = isKept && [...this.#taken].find((slot) => slot.call === call && stageOf(slot) === 'threw')
    const slot: Slot = { call, invocation, unseat: kept ? kept.unseat : undefined }
    if (!kept) {
      const turn = this.#turn(slot, signals)
      if (turn) await turn
      return slot
    }
    this.#taken.delete(kept)
    call.decide(out, kept.invocation)
    this.#hold(slot)
    this.changed(call)
    return slot
  }

  /**
   * The execution is judged: waits until it may begin. Rejects with a signal's reason when one aborts before that, when the call is
   * stopped, and with what the tool's limit throws.
   */
  async begin(slot: Slot, signals: readonly AbortSignal[]): Promise<void> {
    throwIfAborted(signals)
    this.#release(slot)
    this.changed(slot.call)
    const turn = this.#turn(slot, signals)
    this.advance()
    if (!turn) return
    await turn
    // An abort lets others go before it comes to all.
    throwIfAborted(signals)
  }

  /** The call threw what ends the run: it keeps its slot until it is over, so that nothing starts in it any more (A12). */
  keep(slot: Slot): void {
    if (this.#taken.has(slot)) slot.call.decide(moved, slot.invocation, 'threw')
  }

  /** Gives the slot back. More than once does nothing. */
  free(slot: Slot): void {
    const { call, invocation } = slot
    if (stageOf(slot) === 'threw' && !hasSettled(call.state)) return
    call.decide(out, invocation)
    this.#release(slot)
    this.advance()
  }

  /** The call is over: it holds nobody back any more. One that was stopped keeps its place, but nothing else. */
  close(ticket: Ticket): void {
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
    const obstacle = this.#obstacleTo(slot)
    if (obstacle?.stopped) throw obstacle.stopped
    if (obstacle || this.#isFull || !this.#seat(slot)) return this.#wait(slot, obstacle?.call, signals)
    slot.call.seat?.share()
    return undefined
  }

  #look(waiter: Waiter): void {
    const { slot, seatNumber } = waiter
    waiter.unwatch?.()
    waiter.unwatch = undefined
    const obstacle = this.#obstacleTo(slot)
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

  #obstacleTo(slot: Slot): Obstacle<Ticket> | undefined {
    return obstacleOf({ call: slot.call, claim: doesOf(slot) }, this.#order, this.#limit)
  }

  /** Takes all that an execution needs, or nothing. The tool's slot comes last: to ask for it is to take it. */
  #seat(slot: Slot): boolean {
    const { seat } = slot.call
    if (seat && doesOf(slot) && !slot.unseat) {
      slot.unseat = seat.take()
      if (!slot.unseat) return false
    }
    this.#hold(slot)
    return true
  }

  #hold(slot: Slot): void {
    this.#taken.add(slot)
    slot.call.decide(moved, slot.invocation, doesOf(slot) ? 'storing' : 'checking')
  }

  #release(slot: Slot): void {
    if (this.#taken.delete(slot)) this.changed(slot.call)
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

function doesOf({ call, invocation }: Slot): Does | undefined {
  return executionOf(call.state, invocation)?.does
}

function stageOf({ call, invocation }: Slot): Stage | undefined {
  return executionOf(call.state, invocation)?.stage
}
