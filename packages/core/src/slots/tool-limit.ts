/** At most so many executions of one tool at once, over all runs and stand-alone calls (I7). */

import type { Tool } from '../tool.ts'
import { ToolBusyError } from '../tool-errors.ts'
import { Line } from './line.ts'

/** A call as its tool's limit sees it. */
interface Comer {
  readonly tool: Tool | undefined
  readonly maker: Comer | undefined
  readonly caller: Comer | undefined
  readonly provisional: boolean
}

const queues = new WeakMap<Tool, ToolQueue>()

/**
 * A call's place at its tool; none where the tool has no limit. A call that works for another call of the same tool, in the same run or
 * in that of an agent, works inside that one's slot: with a limit of 1 it would wait for itself.
 */
export function seatFor(call: Comer): Seat | undefined {
  const { tool } = call
  if (tool?.concurrency === undefined) return undefined
  for (let above = madeFor(call); above; above = madeFor(above)) if (above.tool === tool) return undefined
  let queue = queues.get(tool)
  if (!queue) {
    queue = new ToolQueue(tool)
    queues.set(tool, queue)
  }
  return new Seat(queue, call)
}

function madeFor({ maker, caller }: Comer): Comer | undefined {
  return maker ?? caller
}

export class Seat {
  readonly #queue: ToolQueue
  readonly #call: Comer

  constructor(queue: ToolQueue, call: Comer) {
    this.#queue = queue
    this.#call = call
  }

  /**
   * Takes a slot, and gives whether there was one. Throws {@link ToolBusyError} where there is none and the call must not
   * wait (I8); one that is made early may, until the loop asks for it (O6).
   */
  take(): boolean {
    if (this.#queue.take()) return true
    const { tool, limit, whenFull } = this.#queue
    if (whenFull === 'fail' && !this.#call.provisional) throw new ToolBusyError(tool, limit)
    return false
  }

  /** A number among those that come to the tool, in order of arrival. */
  arrive(): number {
    return this.#queue.arrive()
  }

  /** Calls back once, when a slot comes free and is for whoever arrived so, unless what it gives is called before. */
  watch(number: number, attempt: () => void): () => void {
    return this.#queue.watch({ number, attempt })
  }

  /** Gives a slot back. To be called once for each that was taken. */
  free(): void {
    this.#queue.free()
  }
}

interface Waiter {
  readonly number: number
  readonly attempt: () => void
}

class ToolQueue {
  readonly tool: string
  readonly limit: number
  readonly whenFull: 'wait' | 'fail'
  readonly #waiting: Line<Waiter> = new Line()
  #arrived = 0
  #taken = 0

  constructor({ name, concurrency }: Tool) {
    this.tool = name
    const { limit = Number.POSITIVE_INFINITY, whenFull = 'wait' } =
      typeof concurrency === 'number' ? { limit: concurrency } : (concurrency ?? {})
    this.limit = limit
    this.whenFull = whenFull
  }

  take(): boolean {
    if (this.#taken >= this.limit) return false
    this.#taken++
    return true
  }

  arrive(): number {
    return ++this.#arrived
  }

  watch(waiter: Waiter): () => void {
    this.#waiting.add(waiter)
    return () => this.#waiting.delete(waiter)
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
