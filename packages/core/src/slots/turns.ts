/** Executions that wait: each for one thing in its way, and tried again only when that has changed. */

import { follow } from '../flow/follow.ts'
import { Caller, type Slot } from './caller.ts'
import { Line } from './line.ts'
import type { Seat } from './tool-limit.ts'

/** What is in an execution's way: a call, which may be its own; its tool's limit; or that its run has no slot. */
export type Obstacle = Caller | Seat | 'slots'

/** An execution that waits. */
export interface Waiter {
  readonly slot: Slot
  /** In order of arrival, among those of its run and among those of its tool. */
  readonly number: number
  readonly seatNumber: number
  go(): void
  fail(error: unknown): void
  /** It no longer waits for what it waits for now. */
  leave(): void
}

/** Who says whether an execution goes. */
interface Judge {
  /** Whether nobody goes at present, whoever it is. */
  isFull(): boolean
  /** What is in the way of an execution; nothing if it goes. What this throws is what its waiting comes to. */
  goes(slot: Slot): Obstacle | undefined
}

export class Turns {
  readonly #judge: Judge
  readonly #all = new Set<Waiter>()
  /** Those of whom nothing is known but that there was no slot for them. */
  readonly #next: Line<Waiter> = new Line()
  #arrived = 0

  constructor(judge: Judge) {
    this.#judge = judge
  }

  /** Waits until the execution goes. Rejects with a signal's reason when one aborts before that. */
  async wait(slot: Slot, obstacle: Obstacle, signals: readonly AbortSignal[]): Promise<void> {
    const { waiting, ticket } = slot.caller
    const seatNumber = ticket.seat?.arrive() ?? 0
    await new Promise<void>((resolve, reject) => {
      const out = () => {
        waiter.leave()
        waiting.delete(waiter)
        this.#all.delete(waiter)
        for (const unfollow of following) unfollow()
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
      const abort = () => waiter.fail(signals.find(({ aborted }) => aborted)?.reason)
      const following = signals.map((signal) => follow(signal, abort))
      waiting.add(waiter)
      this.#all.add(waiter)
      this.#stand(waiter, obstacle)
    })
  }

  /** Something of a call has changed: who waited because of it is worth a try, and so are its own executions. */
  changed({ holding, waiting }: Caller): void {
    for (const waiter of [...holding, ...waiting]) {
      waiter.leave()
      this.#stand(waiter, 'slots')
    }
  }

  /** Lets go whoever may, in order of arrival. */
  advance(): void {
    while (!this.#judge.isFull()) {
      const waiter = this.#next.shift()
      if (!waiter) return
      this.#try(waiter)
    }
  }

  /** Ends the waiting of those for whom that gives an error. */
  end(errorFor: (slot: Slot) => unknown): void {
    for (const waiter of this.#all) {
      const error = errorFor(waiter.slot)
      if (error) waiter.fail(error)
    }
  }

  #stand(waiter: Waiter, obstacle: Obstacle): void {
    if (obstacle === 'slots') {
      this.#next.add(waiter)
      waiter.leave = () => this.#next.delete(waiter)
    } else if (obstacle instanceof Caller) {
      obstacle.holding.add(waiter)
      waiter.leave = () => obstacle.holding.delete(waiter)
    } else {
      waiter.leave = obstacle.watch(waiter.seatNumber, () => {
        // One that arrived before it may wait for a slot by now.
        this.#stand(waiter, 'slots')
        this.advance()
      })
    }
  }

  #try(waiter: Waiter): void {
    try {
      const obstacle = this.#judge.goes(waiter.slot)
      if (obstacle) this.#stand(waiter, obstacle)
      else waiter.go()
    } catch (error) {
      waiter.fail(error)
    }
  }
}
