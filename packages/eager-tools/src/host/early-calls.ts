/** The early calls of one step: those that have started, and those waiting for a slot or for resource keys. */

import { keysMeet } from '@meanwhile/core/calls'
import type { EarlyCall } from './early-call.ts'

export class EarlyCalls {
  /** In the order in which they started. */
  readonly begun: EarlyCall[] = []
  readonly #waiting: EarlyCall[] = []
  readonly #slots: number
  readonly #mayBegin: (early: EarlyCall) => boolean

  /** A call does not start while `mayBegin` returns `false`. */
  constructor(slots: number, mayBegin: (early: EarlyCall) => boolean) {
    this.#slots = slots
    this.#mayBegin = mayBegin
  }

  add(early: EarlyCall): void {
    this.#waiting.push(early)
    this.go()
  }

  /** Drops all waiting calls, and returns them. */
  clear(): readonly EarlyCall[] {
    return this.#waiting.splice(0)
  }

  /** Starts waiting calls in call order, as far as slots and keys allow. */
  go(): void {
    const running = this.begun.filter(({ isRunning }) => isRunning)
    const before = [...running]
    for (const early of this.#waiting.splice(0)) {
      const waits =
        running.length >= this.#slots || before.some(({ keys }) => keysMeet(keys, early.keys)) || !this.#mayBegin(early)
      before.push(early)
      if (waits) {
        this.#waiting.push(early)
        continue
      }
      running.push(early)
      this.begun.push(early)
      early.begin()
    }
  }
}
