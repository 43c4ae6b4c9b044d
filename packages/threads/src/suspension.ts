/** Notices that this process was suspended, or that its clock was set. */

export class Suspension {
  readonly #lease: number
  #wall = 0
  #elapsed = 0
  #over = Number.NEGATIVE_INFINITY

  /** `lease`: the lease time of turns, in milliseconds. Call {@link check} at least six times in it. */
  constructor(lease: number) {
    this.#lease = lease
    this.reset()
  }

  /** Forgets when it was checked before. */
  reset(): void {
    this.#wall = Date.now()
    this.#elapsed = performance.now()
  }

  /**
   * Whether this process has been running for half a lease time, and its clock was not set. Before that, leases of other processes may only seem to have
   * expired: they may have been suspended too, and have not yet renewed them. Calls `noticed` for each suspension.
   */
  check(noticed: () => void): boolean {
    const wall = Date.now()
    const elapsed = performance.now()
    // While a machine sleeps, its monotonic clock may stand still.
    const passed = Math.max(elapsed - this.#elapsed, Math.abs(wall - this.#wall))
    this.reset()
    if (passed > this.#lease / 3) {
      this.#over = elapsed + this.#lease / 2
      noticed()
    }
    return elapsed >= this.#over
  }
}
