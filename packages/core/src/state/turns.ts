/** Lets the executions of a run go on when machine/due.ts says that it is their turn, and their tool has a slot for them. */

import { follow, throwIfAborted } from '../flow/follow.ts'
import { executionOf, hasSettled, type Stage } from '../machine/call.ts'
import { type Calls, callOf, type WaitingExecution } from '../machine/calls.ts'
import { executionOver, movedTo } from '../machine/decide-call.ts'
import { callChanged, callClosed, decideCall } from '../machine/decide-calls.ts'
import {
  arrived,
  awaitsTool,
  beginsToWait,
  type Due,
  dueOf,
  isJudged,
  mustLook,
  stopsWaiting,
  takesOverSlot,
  takesTurn,
} from '../machine/due.ts'
import { isSameExecution } from '../machine/invocation.ts'
import type { Invocation } from '../vocabulary/saved-run.ts'
import { ToolCircleError } from '../vocabulary/tool-errors.ts'
import type { Seat } from './tool-limit.ts'

/** A call, as far as its turns concern it. */
interface Comer {
  readonly number: number
  readonly id: string
  readonly call: { readonly name: string }
  /** Its place at its tool, if the tool has a limit. */
  readonly seat: Seat | undefined
  /** Why it waits for a resume, if it does. */
  readonly stopped: Error | undefined
}

/** The slots of an execution: it waits for them, or has them. */
export interface Slot {
  readonly call: Comer
  readonly invocation: Invocation
  /** Gives back its slot of its tool, if it has one. */
  unseat: (() => void) | undefined
}

interface Waiter {
  readonly slot: Slot
  /** Since when it waits for its tool, among all executions that do. */
  readonly seatNumber: number
  /** While its tool is to tell it of a free slot: takes that back. */
  unwatch: (() => void) | undefined
  go(): void
  fail(error: unknown): void
}

export class Turns {
  readonly #calls: Calls
  readonly #callOf: (number: number) => Comer | undefined
  readonly #waiters: Map<WaitingExecution, Waiter> = new Map()
  /** Those that have a slot of their tool. */
  readonly #seated: Set<Slot> = new Set()

  constructor(calls: Calls, callOf: (number: number) => Comer | undefined) {
    this.#calls = calls
    this.#callOf = callOf
  }

  /** Lets go whoever may, in order of arrival. */
  advance(): void {
    for (const waiting of this.#calls.waiting) if (mustLook(this.#calls, waiting)) this.#look(waiting)
  }

  /** Waits for a slot. Rejects with a signal's reason when one aborts before that, or when the call is stopped. */
  async take(call: Comer, invocation: Invocation, signals: readonly AbortSignal[]): Promise<Slot> {
    throwIfAborted(signals)
    const slot: Slot = { call, invocation, unseat: undefined }
    const replaced = takesOverSlot(this.#calls, call.number, invocation)
    if (replaced) this.#takeOver(replaced, slot)
    else {
      const turn = this.#turn(slot, signals)
      if (turn) await turn
    }
    return slot
  }

  /**
   * The execution is judged: waits until it may begin. Rejects with a signal's reason when one aborts before that, when the call is
   * stopped, and with what the tool's limit throws.
   */
  async begin(slot: Slot, signals: readonly AbortSignal[]): Promise<void> {
    throwIfAborted(signals)
    this.#unseat(slot)
    callChanged(this.#calls, slot.call.number)
    const turn = this.#turn(slot, signals)
    this.advance()
    if (!turn) return
    await turn
    // An abort lets others go before it comes to all.
    throwIfAborted(signals)
  }

  /** The call threw what ends the run: it keeps its slot until it is over, so that nothing starts in it any more. */
  threw({ call, invocation }: Slot): void {
    decideCall(this.#calls, movedTo(callOf(this.#calls, call.number), invocation, 'threw'))
  }

  /** Gives the slot back. More than once does nothing. */
  free(slot: Slot): void {
    const { call, invocation } = slot
    const state = this.#calls.all.get(call.number)
    if (state) {
      if (this.#stageOf(slot) === 'threw' && !hasSettled(state)) return
      decideCall(this.#calls, executionOver(callOf(this.#calls, call.number), invocation))
      callChanged(this.#calls, call.number)
    }
    this.#unseat(slot)
    this.advance()
  }

  /** The call has settled. */
  close(call: Comer): void {
    callClosed(this.#calls, call.number)
    for (const slot of this.#seated) if (slot.call === call) this.#unseat(slot)
    this.advance()
  }

  /** Lets an execution go at once, or gives its wait. Throws what stops it. */
  #turn(slot: Slot, signals: readonly AbortSignal[]): Promise<void> | undefined {
    const waiting = arrived(slot.call.number, slot.invocation)
    const due = dueOf(this.#calls, waiting)
    if (due && due.is !== 'turn') throw this.#errorOf(slot, due)
    if (!due || !this.#seat(slot)) return this.#wait(slot, waiting, signals)
    takesTurn(this.#calls, waiting)
    slot.call.seat?.share()
    return undefined
  }

  #look(waiting: WaitingExecution): void {
    const waiter = this.#waiters.get(waiting)
    if (!waiter) return
    waiter.unwatch?.()
    waiter.unwatch = undefined
    const due = dueOf(this.#calls, waiting)
    if (!due) return
    const { slot, seatNumber } = waiter
    if (due.is !== 'turn') {
      waiter.fail(this.#errorOf(slot, due))
      return
    }
    const { seat } = slot.call
    try {
      if (this.#seat(slot)) {
        takesTurn(this.#calls, waiting)
        waiter.go()
        seat?.share()
      } else {
        awaitsTool(waiting, true)
        waiter.unwatch = seat?.watch(seatNumber, () => {
          awaitsTool(waiting, false)
          waiter.unwatch = undefined
          this.advance()
        })
      }
    } catch (error) {
      waiter.fail(error)
    }
  }

  #errorOf({ call }: Slot, { is, by }: Exclude<Due, { readonly is: 'turn' }>): Error | undefined {
    const other = this.#callOf(by)
    return is === 'stop' ? other?.stopped : new ToolCircleError(call.call.name, other?.id ?? '')
  }

  /** A slot of its tool, where that has a limit. It comes last: to look for one is to take it. */
  #seat(slot: Slot): boolean {
    const { call, invocation } = slot
    if (!call.seat || slot.unseat || !isJudged(this.#calls, { call: call.number, invocation })) return true
    slot.unseat = call.seat.take()
    if (!slot.unseat) return false
    this.#seated.add(slot)
    return true
  }

  /** The slot of its tool that another execution of the same call has, if it has one. */
  #takeOver(from: Invocation, to: Slot): void {
    for (const slot of this.#seated) {
      if (slot.call !== to.call || !isSameExecution(slot.invocation, from)) continue
      to.unseat = slot.unseat
      slot.unseat = undefined
      this.#seated.delete(slot)
      this.#seated.add(to)
      return
    }
  }

  #unseat(slot: Slot): void {
    const { unseat } = slot
    slot.unseat = undefined
    this.#seated.delete(slot)
    // Last: whoever waits for the tool is tried at once.
    unseat?.()
  }

  #stageOf({ call, invocation }: Slot): Stage | undefined {
    const state = this.#calls.all.get(call.number)
    return state && executionOf(state, invocation)?.stage
  }

  #wait(slot: Slot, waiting: WaitingExecution, signals: readonly AbortSignal[]): Promise<void> {
    beginsToWait(this.#calls, waiting)
    const seatNumber = slot.call.seat?.arrive() ?? 0
    return new Promise<void>((resolve, reject) => {
      const abort = () => waiter.fail(signals.find(({ aborted }) => aborted)?.reason)
      const out = () => {
        waiter.unwatch?.()
        this.#waiters.delete(waiting)
        stopsWaiting(this.#calls, waiting)
        for (const unfollow of following) unfollow()
      }
      const waiter: Waiter = {
        slot,
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
      this.#waiters.set(waiting, waiter)
    })
  }
}
