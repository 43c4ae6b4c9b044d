/** Limits how many executions of one tool are at work at once, over all runs and stand-alone calls. */

import type { Tool } from '../vocabulary/tool.ts'
import { ToolBusyError } from '../vocabulary/tool-errors.ts'

/** A call as its tool's limit sees it. */
interface Comer {
  readonly tool: Tool | undefined
  readonly maker: Comer | undefined
  readonly caller: Comer | undefined
  readonly seat: Seat | undefined
  readonly provisional: boolean
}

/** One of the slots of a tool: free again when nobody uses it any more. */
interface ToolSlot {
  users: number
}

const queues = new WeakMap<Tool, ToolQueue>()

/** A call's seat at its tool; none where the tool has no limit. */
export function seatFor(call: Omit<Comer, 'seat'>): Seat | undefined {
  const { tool } = call
  if (tool?.concurrency === undefined) return undefined
  let queue = queues.get(tool)
  if (!queue) {
    queue = new ToolQueue(tool)
    queues.set(tool, queue)
  }
  return new Seat(queue, call)
}

export class Seat {
  readonly #queue: ToolQueue
  readonly #call: Omit<Comer, 'seat'>
  /** One for each of its executions. */
  readonly #slots: ToolSlot[] = []

  constructor(queue: ToolQueue, call: Omit<Comer, 'seat'>) {
    this.#queue = queue
    this.#call = call
  }

  /**
   * Takes a slot for an execution, and gives what gives it back; nothing if there is none. While a call that this one works for has a
   * slot of the tool, in this run or in one above it, the two share that: else the call would wait for itself. Throws
   * {@link ToolBusyError} where there is none and the call must not wait; one that is made early may, until the loop commits it.
   */
  take(): (() => void) | undefined {
    const slot = this.#slotAbove() ?? this.#queue.take()
    if (!slot) {
      const { tool, limit, whenFull } = this.#queue
      if (whenFull === 'fail' && !this.#call.provisional) throw new ToolBusyError(tool, limit)
      return undefined
    }
    slot.users++
    this.#slots.push(slot)
    return () => {
      this.#slots.splice(this.#slots.indexOf(slot), 1)
      if (--slot.users === 0) this.#queue.free()
    }
  }

  /**
   * Calls back what works for this call and waits for the tool: by now there is a slot to share. To be called when the execution that
   * took the slot no longer waits, as what is called back may look at whoever does.
   */
  share(): void {
    this.#queue.callBack((waiting) => waiting.#slotAbove() !== undefined)
  }

  /** A number among those that come to the tool, in order of arrival. */
  arrive(): number {
    return this.#queue.arrive()
  }

  /** Calls back once, when there may be a slot for whoever arrived so, unless what it gives is called before. */
  watch(number: number, attempt: () => void): () => void {
    return this.#queue.watch({ number, attempt, seat: this })
  }

  #slotAbove(): ToolSlot | undefined {
    for (let above = madeFor(this.#call); above; above = madeFor(above)) {
      const { seat } = above
      if (seat && seat.#queue === this.#queue && seat.#slots[0]) return seat.#slots[0]
    }
    return undefined
  }
}

/** The call that a call works for: the one that makes it, or that runs the agent whose model requests it. */
function madeFor({ maker, caller }: Omit<Comer, 'seat'>): Comer | undefined {
  return maker ?? caller
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

  take(): ToolSlot | undefined {
    if (this.#taken >= this.limit) return undefined
    this.#taken++
    return { users: 0 }
  }

  arrive(): number {
    return ++this.#arrived
  }

  watch(waiter: Waiter): () => void {
    const place = this.#waiting.findLastIndex(({ number }) => number < waiter.number) + 1
    this.#waiting.splice(place, 0, waiter)
    return () => this.#leave(waiter)
  }

  /** Calls back those for whom that holds. */
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
