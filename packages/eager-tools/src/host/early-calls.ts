/** The early calls of one step: which have begun, and which wait for a slot or for keys. */

import { keysMeet } from '@meanwhile/core/calls'
import type { EarlyCall } from './early-call.ts'

export class EarlyCalls {
  /** In the order in which they began. */
  readonly begun: EarlyCall[] = []
  readonly #waiting: EarlyCall[] = []
  readonly #slots: number
  readonly #mayBegin: () => boolean

  /** No call begins while `mayBegin` returns `false`. */
  constructor(slots: number, mayBegin: () => boolean) {
    this.#slots = slots
    this.#mayBegin = mayBegin
  }

  add(early: EarlyCall): void {
    this.#waiting.push(early)
    this.go()
  }

  /** What waits never begins. */
  clear(): void {
    this.#waiting.length = 0
  }

  /** What a slot and the keys allow begins, in call order. */
  go(): void {
    const running = this.begun.filter(({ isRunning }) => isRunning)
    const before = [...running]
    for (const early of this.#waiting.splice(0)) {
      const waits =
        running.length >= this.#slots || before.some(({ keys }) => keysMeet(keys, early.keys)) || !this.#mayBegin()
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
