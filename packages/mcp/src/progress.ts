/** The progress of a call, as a run reads it: at most some times a second, and the last one always. */

import type { Progress } from '@meanwhile/core'
import type { Progress as Reported } from '@modelcontextprotocol/client'

export class ProgressTap {
  readonly #interval: number
  #latest: Reported | undefined
  #isOver = false
  #wake: () => void = () => {}
  #woken: Promise<void>

  constructor(perSecond: number) {
    this.#interval = 1000 / perSecond
    this.#woken = this.#sleep()
  }

  /** Receives each notification of the server. */
  take(reported: Reported): void {
    const isFirst = this.#latest === undefined
    this.#latest = reported
    if (isFirst) this.#wake()
  }

  /** Called when the call has its answer. */
  end(): void {
    this.#isOver = true
    this.#wake()
  }

  async *read(): AsyncGenerator<Progress, void> {
    for (let last = Number.NEGATIVE_INFINITY; ; ) {
      if (this.#latest === undefined && !this.#isOver) await this.#woken
      this.#woken = this.#sleep()
      const wait = last + this.#interval - performance.now()
      if (wait > 0 && !this.#isOver) await this.#orOver(wait)
      const latest = this.#latest
      this.#latest = undefined
      if (latest) {
        last = performance.now()
        yield shown(latest)
      }
      if (this.#isOver && this.#latest === undefined) return
    }
  }

  #sleep(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  /** Waits, but not after the end of the call. */
  async #orOver(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    await Promise.race([
      this.#woken,
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, ms)
      }),
    ])
    clearTimeout(timer)
  }
}

function shown({ progress, total, message }: Reported): Progress {
  return {
    ...(total !== undefined && total > 0 && { progress: Math.max(0, Math.min(1, progress / total)) }),
    ...(message !== undefined && { message }),
  }
}
