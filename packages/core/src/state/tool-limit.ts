/** Limits how many executions of one tool run at the same time, over all runs and stand-alone calls. */

import type { Tool } from '../vocabulary/tool.ts'
import { ToolBusyError } from '../vocabulary/tool-errors.ts'

/** The part of a call that its tool's limit needs. */
interface LimitedCall {
  readonly tool: Tool | undefined
  readonly maker: LimitedCall | undefined
  readonly caller: LimitedCall | undefined
  readonly asker: LimitedCall | undefined
  readonly seat: Seat | undefined
  readonly provisional: boolean
}

/** One of the slots of a tool. It is free when nothing uses it any more. */
interface ToolSlot {
  users: number
}

const queues = new WeakMap<Tool, ToolQueue>()

/** Returns the place of a call at its tool; `undefined` if the tool has no limit. */
export function seatFor(call: Omit<LimitedCall, 'seat'>): Seat | undefined {
  const { tool } = call
  if (tool?.concurrency === undefined) return undefined
  const queue = queues.get(tool) ?? new ToolQueue(tool)
  queues.set(tool, queue)
  return new Seat(queue, call)
}

export class Seat {
  readonly queue: ToolQueue
  readonly #call: Omit<LimitedCall, 'seat'>
  /** One slot for each of its executions. */
  readonly slots: ToolSlot[] = []

  constructor(queue: ToolQueue, call: Omit<LimitedCall, 'seat'>) {
    this.queue = queue
    this.#call = call
  }

  /**
   * Takes a slot for an execution, and returns the function that frees it; `undefined` if no slot is free. If this call runs inside a call that has a
   * slot of the tool, in this run or in an outer one, the two share it, because otherwise the inner call would wait for the outer one forever. If it
   * runs inside a call that has a slot of another tool, it runs beyond the limit instead of waiting: two such calls might wait for each other. Throws
   * {@link ToolBusyError} if no slot is free and the call must not wait; an early call may wait until the loop commits it.
   */
  take(): (() => void) | undefined {
    const slot = this.slotAbove() ?? this.queue.take(this.#isInsideSlot())
    if (!slot) {
      const { tool, limit, whenFull } = this.queue
      if (whenFull === 'fail' && !this.#call.provisional) throw new ToolBusyError(tool, limit)
      return undefined
    }
    slot.users++
    this.slots.push(slot)
    return () => {
      this.slots.splice(this.slots.indexOf(slot), 1)
      if (--slot.users === 0) this.queue.free()
    }
  }

  /**
   * Notifies the calls inside this one that wait for the tool, because they can share its slot now. Call this when the execution that took the slot
   * no longer waits, because the callbacks examine everything that waits.
   */
  share(): void {
    this.queue.callBack((waiting) => waiting.slotAbove() !== undefined)
  }

  /** Calls back once, when there may be a slot for the arrival with this number. Returns a function that cancels this. */
  watch(number: number, attempt: () => void): () => void {
    return this.queue.watch({ number, attempt, seat: this })
  }

  /** Whether it runs inside a call that has a slot of a limited tool. */
  #isInsideSlot(): boolean {
    for (const { seat } of above(this.#call)) if (seat && seat.slots.length > 0) return true
    return false
  }

  slotAbove(): ToolSlot | undefined {
    for (const { seat } of above(this.#call))
      if (seat && seat.queue === this.queue && seat.slots[0]) return seat.slots[0]
    return undefined
  }
}

/**
 * The calls that wait for this one, directly or not: its maker, one that asks for it by its id, or the call that runs the agent whose model requests
 * it. Each comes once: a call may ask for one that has not waited for it.
 */
function* above(call: Omit<LimitedCall, 'seat'>): Generator<LimitedCall> {
  const seen = new Set<LimitedCall>()
  for (let one = next(call); one && !seen.has(one); one = next(one)) {
    seen.add(one)
    yield one
  }
}

function next({ maker, asker, caller }: Omit<LimitedCall, 'seat'>): LimitedCall | undefined {
  return maker ?? asker ?? caller
}

interface Waiter {
  readonly number: number
  readonly seat: Seat
  readonly attempt: () => void
}

class ToolQueue {
  readonly tool: string
  readonly limit: number
  readonly whenFull: 'wait' | 'fail'
  /** In order of arrival. */
  readonly #waiting: Waiter[] = []
  #arrived = 0
  #taken = 0

  constructor({ name, concurrency }: Tool) {
    this.tool = name
    const { limit = Number.POSITIVE_INFINITY, whenFull = 'wait' } =
      typeof concurrency === 'number' ? { limit: concurrency } : (concurrency ?? {})
    this.limit = limit
    this.whenFull = whenFull
  }

  /** `beyond`: whether a slot beyond the limit may be taken, if the tool lets calls wait. */
  take(beyond: boolean): ToolSlot | undefined {
    if (this.#taken >= this.limit && !(beyond && this.whenFull === 'wait')) return undefined
    this.#taken++
    return { users: 0 }
  }

  /** Returns a number in order of arrival. */
  arrive(): number {
    return ++this.#arrived
  }

  watch(waiter: Waiter): () => void {
    const place = this.#waiting.findLastIndex(({ number }) => number < waiter.number) + 1
    this.#waiting.splice(place, 0, waiter)
    return () => this.#leave(waiter)
  }

  /** Calls back the waiting calls for which `holds` returns true. */
  callBack(holds: (seat: Seat) => boolean): void {
    for (const waiter of this.#waiting.filter(({ seat }) => holds(seat))) {
      this.#leave(waiter)
      waiter.attempt()
    }
  }

  #leave(waiter: Waiter): void {
    const place = this.#waiting.indexOf(waiter)
    if (place >= 0) this.#waiting.splice(place, 1)
  }

  free(): void {
    this.#taken--
    while (this.#taken < this.limit) {
      const waiter = this.#waiting.shift()
      if (!waiter) return
      waiter.attempt()
    }
  }
}
