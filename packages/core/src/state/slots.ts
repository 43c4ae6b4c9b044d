/** Gives the executions of a run their slots, when `machine/due.ts` decides that it is their turn, and their tool has a slot for them. */

import { follow, throwIfAborted } from '../flow/follow.ts'
import { executionOf, hasSettled } from '../machine/call.ts'
import { type Calls, callOf, type WaitingExecution } from '../machine/calls.ts'
import { executionOver, movedTo } from '../machine/decide-call.ts'
import { callChanged, callClosed, decideCall } from '../machine/decide-calls.ts'
import { arrived, dueOf, isJudged, mustLook, takesOverSlot, takesTurn } from '../machine/due.ts'
import { isSameExecution } from '../machine/invocation.ts'
import type { Invocation } from '../vocabulary/saved-run.ts'
import { ToolCircleError } from '../vocabulary/tool-errors.ts'
import type { Seat } from './tool-limit.ts'

/** The part of a call that its slots need. */
interface SlotCall {
  readonly number: number
  readonly id: string
  readonly call: { readonly name: string }
  /** Its place at its tool, if the tool has a limit. */
  readonly seat: Seat | undefined
  /** Why it waits for a resume, if it does. */
  readonly stopped: Error | undefined
}

/** The slots of an execution, which waits for them or holds them. */
export interface Slot {
  readonly call: SlotCall
  readonly invocation: Invocation
  /** Frees its slot of its tool, if it has one. */
  unseat: (() => void) | undefined
}

interface Waiter {
  readonly slot: Slot
  /** Its number in the order in which executions began to wait for their tool. */
  readonly seatNumber: number
  /** Cancels the wait for a free slot of its tool, while there is one. */
  unwatch: (() => void) | undefined
  go(): void
  fail(error: unknown): void
}

export class Slots {
  readonly #calls: Calls
  readonly #callOf: (number: number) => SlotCall | undefined
  readonly #waiters: Map<WaitingExecution, Waiter> = new Map()
  /** The executions that have a slot of their tool. */
  readonly #seated: Set<Slot> = new Set()

  constructor(calls: Calls, callOf: (number: number) => SlotCall | undefined) {
    this.#calls = calls
    this.#callOf = callOf
  }

  /** Lets every execution continue that may, in order of arrival. */
  advance(): void {
    for (const waiting of this.#calls.waiting) if (mustLook(this.#calls, waiting)) this.#look(waiting)
  }

  /** Waits for a slot. Rejects with the reason of a signal that aborts before that, or when the call is stopped. */
  async take(call: SlotCall, invocation: Invocation, signals: readonly AbortSignal[]): Promise<Slot> {
    throwIfAborted(signals)
    const slot: Slot = { call, invocation, unseat: undefined }
    const replaced = takesOverSlot(this.#calls, call.number, invocation)
    if (replaced) this.#takeOver(replaced, slot)
    else {
      const turn = this.#turn(slot, signals)
      // A call that a tool asks for may be blocked by this one, and only now it is known what this one waits for.
      if (turn && this.#calls.asked.size > 0) {
        callChanged(this.#calls, call.number)
        this.advance()
      }
      if (turn) await turn
    }
    return slot
  }

  /** Waits until a judged execution may begin. Rejects when a signal aborts or the call is stopped, and with the error of the tool's limit. */
  async begin(slot: Slot, signals: readonly AbortSignal[]): Promise<void> {
    throwIfAborted(signals)
    this.#unseat(slot)
    const turn = this.#turn(slot, signals)
    this.advance()
    if (!turn) return
    await turn
    // An abort frees executions one by one, so it may not have reached this one yet.
    throwIfAborted(signals)
  }

  /** Called when the call threw an error that ends the run: it keeps its slot until it is over, so that nothing else starts in it. */
  threw({ call, invocation }: Slot): void {
    decideCall(this.#calls, movedTo(callOf(this.#calls, call.number), invocation, 'threw'))
  }

  /** Frees the slot. Further calls do nothing. */
  free(slot: Slot): void {
    const { call, invocation } = slot
    const state = this.#calls.all.get(call.number)
    if (state) {
      if (executionOf(state, invocation)?.stage === 'threw' && !hasSettled(state)) return
      decideCall(this.#calls, executionOver(state, invocation))
    }
    this.#unseat(slot)
    this.advance()
  }

  /** Called when the call has settled. */
  close(call: SlotCall): void {
    callClosed(this.#calls, call.number)
    for (const slot of this.#seated) if (slot.call === call) this.#unseat(slot)
    this.advance()
  }

  /** Lets an execution continue at once, or returns its wait. Throws the error that stops it. */
  #turn(slot: Slot, signals: readonly AbortSignal[]): Promise<void> | undefined {
    const waiting = arrived(slot.call.number, slot.invocation)
    if (this.#tried(slot, waiting) !== 'goes on') return this.#wait(slot, waiting, signals)
    slot.call.seat?.share()
    return undefined
  }

  #look(waiting: WaitingExecution): void {
    const waiter = this.#waiters.get(waiting)
    if (!waiter) return
    const { slot, seatNumber } = waiter
    const { seat } = slot.call
    waiter.unwatch?.()
    waiter.unwatch = undefined
    try {
      const came = this.#tried(slot, waiting)
      if (came === 'goes on') {
        waiter.go()
        seat?.share()
      } else if (came === 'tool is full') {
        waiting.awaitsToolSlot = true
        waiter.unwatch = seat?.watch(seatNumber, () => {
          waiting.awaitsToolSlot = false
          waiter.unwatch = undefined
          this.advance()
        })
      }
    } catch (error) {
      waiter.fail(error)
    }
  }

  /** Lets an execution go on if it is its turn and its tool has a slot for it. Throws the error that stops it. */
  #tried(slot: Slot, waiting: WaitingExecution): 'goes on' | 'tool is full' | 'waits' {
    const due = dueOf(this.#calls, waiting)
    if (!due) return 'waits'
    if (due.is !== 'turn') {
      const other = this.#callOf(due.by)
      throw due.is === 'stop' ? other?.stopped : new ToolCircleError(slot.call.call.name, other?.id ?? '')
    }
    if (!this.#seat(slot)) return 'tool is full'
    takesTurn(this.#calls, waiting)
    return 'goes on'
  }

  /** Takes a slot of its tool, if the tool has a limit. This check must come last, because it takes the slot. */
  #seat(slot: Slot): boolean {
    const { call, invocation } = slot
    if (!call.seat || slot.unseat || !isJudged(this.#calls, { call: call.number, invocation })) return true
    slot.unseat = call.seat.take()
    if (!slot.unseat) return false
    this.#seated.add(slot)
    return true
  }

  /** Takes over the tool slot that another execution of the same call has, if it has one. */
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
    // Last, because executions that wait for the tool start immediately.
    unseat?.()
  }

  #wait(slot: Slot, waiting: WaitingExecution, signals: readonly AbortSignal[]): Promise<void> {
    this.#calls.waiting.add(waiting)
    const seatNumber = slot.call.seat?.queue.arrive() ?? 0
    return new Promise<void>((resolve, reject) => {
      const abort = () => waiter.fail(signals.find(({ aborted }) => aborted)?.reason)
      const out = () => {
        waiter.unwatch?.()
        this.#waiters.delete(waiting)
        this.#calls.waiting.delete(waiting)
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
