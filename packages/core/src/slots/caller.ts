/** A call as the slots of its run see it: its place in call order, what it holds, and who waits because of it. */

import type { RunStop } from '../errors.ts'
import type { Spot } from './call-order.ts'
import type { ResourceKeys } from './resource-keys.ts'
import type { Seat } from './tool-limit.ts'
import type { Waiter } from './turns.ts'

/** What a call says of itself. When anything of it changes, the slots are told by `changed`. */
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
export interface Claim {
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

export class Caller implements Spot {
  readonly ticket: Ticket
  number: number = Number.POSITIVE_INFINITY
  keys: ResourceKeys | undefined
  isAtWork = false
  isStopped = false
  /** The slots its executions have: a call may execute twice at once (C14). */
  readonly slots: Set<Slot> = new Set()
  /** Its executions that wait. */
  readonly waiting: Set<Waiter> = new Set()
  /** Executions in whose way it is. */
  readonly holding: Set<Waiter> = new Set()

  constructor(ticket: Ticket) {
    this.ticket = ticket
  }

  /** Its place, and what else its order must know, as it is by now. */
  update(number: number): void {
    this.number = number
    this.keys = this.ticket.keys
    this.isAtWork = [...this.slots].some(({ claim }) => claim)
    this.isStopped = this.ticket.stopped !== undefined
  }
}
