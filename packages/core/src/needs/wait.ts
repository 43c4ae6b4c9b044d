/** The rest of a call's input for one execution of its tool, and how long that waits for it: to wait is no work. */

import type { AwaitedRest } from '../state/capabilities.ts'
import { watched } from './watched.ts'

export class Wait implements AwaitedRest {
  readonly promise: Promise<unknown>
  #since = Number.POSITIVE_INFINITY
  until: number | undefined

  constructor(rest: Promise<unknown>) {
    const over = () => this.over()
    this.promise = watched(rest, () => {
      this.#since = performance.now()
      rest.then(over, over)
    })
  }

  over(): void {
    this.until ??= performance.now()
  }

  within(from: number, to: number): number {
    return Math.max(0, Math.min(to, this.until ?? to) - Math.max(from, this.#since))
  }
}
