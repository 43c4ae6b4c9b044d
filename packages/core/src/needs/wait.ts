/** How long one execution of a tool waits for the rest of its call's input: that is no work. Times: `performance.now()`. */

import { watched } from './watched.ts'

export class Wait {
  #since = Number.POSITIVE_INFINITY
  until: number | undefined

  /** The rest, as the tool's function is given it. The wait begins when that first awaits it. */
  for<T>(rest: Promise<T>): Promise<T> {
    const over = () => this.over()
    return watched(rest, () => {
      this.#since = performance.now()
      rest.then(over, over)
    })
  }

  /** The rest is there, or the function is out. */
  over(): void {
    this.until ??= performance.now()
  }

  /** The milliseconds of it between two times. */
  within(from: number, to: number): number {
    return Math.max(0, Math.min(to, this.until ?? to) - Math.max(from, this.#since))
  }
}
