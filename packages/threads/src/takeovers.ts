/** Takes over the turns whose process has died, once or again and again. */

import { inRoot } from './callers.ts'
import { type Host, timeOf } from './host.ts'
import { Suspension } from './suspension.ts'
import type { TurnRunner } from './turn-runner.ts'

/** How many threads are taken over before the store is queried again. */
const PAGE = 100

export class Takeovers {
  readonly #host: Host
  readonly #runner: TurnRunner
  readonly #watches = new Set<ReturnType<typeof setInterval>>()
  readonly #suspension: Suspension
  /** The takeovers that `watch` has begun. Never rejects. */
  #recovering: Promise<void> | undefined
  #isClosed = false

  constructor(host: Host, runner: TurnRunner) {
    this.#host = host
    this.#runner = runner
    this.#suspension = new Suspension(2 * runner.recoverInterval)
  }

  async recover(): Promise<number> {
    const errors: unknown[] = []
    const count = await this.#recoverAll((error) => errors.push(error))
    if (errors.length > 0) throw errors[0]
    return count
  }

  /** Returns how many turns were taken over. Calls `failed` with each thread that could not be taken over. */
  async #recoverAll(failed: (error: unknown, thread: string) => void): Promise<number> {
    const now = await timeOf(this.#host.store)
    let count = 0
    // Threads that were not taken over. The store returns them again.
    const passed = new Set<string>()
    while (!this.#isClosed && !this.#runner.isFull) {
      const due = await this.#host.store.due(now, PAGE + passed.size)
      const page = due.filter((thread) => !passed.has(thread))
      if (page.length === 0) break
      for (const thread of page) {
        if (this.#isClosed || this.#runner.isFull) break
        const isTaken = await this.#runner.recover(thread).catch((error: unknown) => {
          failed(error, thread)
          return false
        })
        if (isTaken) count++
        else passed.add(thread)
      }
    }
    return count
  }

  watch(): { close(): void } {
    // The request in which the server calls this may end long before the watch.
    const timers = inRoot(() => this.#startWatch())
    return {
      close: () => {
        for (const timer of timers) {
          clearInterval(timer)
          this.#watches.delete(timer)
        }
      },
    }
  }

  #startWatch(): readonly ReturnType<typeof setInterval>[] {
    const { recoverInterval } = this.#runner
    const timers = [
      setInterval(() => this.#isAwake(), recoverInterval / 3),
      setInterval(() => this.#isAwake() && this.#recoverInBackground(), recoverInterval),
    ]
    for (const timer of timers) this.#watches.add(timer)
    this.#suspension.reset()
    this.#recoverInBackground()
    return timers
  }

  /** Whether turns may be taken over. After a suspension this process first renews its own leases, and lets other processes do that. */
  #isAwake(): boolean {
    return this.#suspension.check(() => this.#runner.renewLeases())
  }

  /** Takes over turns as `recover` does, unless an earlier takeover is still running. Errors are reported. */
  #recoverInBackground(): void {
    const { report } = this.#host
    this.#recovering ??= this.#recoverAll((error, thread) => report(error, { thread }))
      .then(
        () => undefined,
        (error: unknown) => report(error, {}),
      )
      .finally(() => {
        this.#recovering = undefined
      })
  }

  /** Ends all watches. Resolves when no takeover is under way. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const timer of this.#watches) clearInterval(timer)
    await this.#recovering
  }
}
