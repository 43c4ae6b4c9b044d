/** The wait for what a run does, bounded once the run is aborted: a hook or wrap that does not heed it holds nothing up. */

import { timer } from '../flow/grace.ts'
import type { RunState } from './run.ts'

export class RunWait {
  readonly #run: RunState
  #reject: (reason: unknown) => void = () => undefined
  #timer: ReturnType<typeof timer>

  constructor(run: RunState) {
    this.#run = run
    run.signal.addEventListener('abort', this.#aborted, { once: true })
  }

  /** What the work gives, or the run's abort, once the grace time is over. */
  until<Result>(work: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#reject = reject
      work.then(resolve, reject)
    })
  }

  over(): void {
    this.#run.signal.removeEventListener('abort', this.#aborted)
    clearTimeout(this.#timer)
  }

  readonly #aborted = (): void => {
    // One turn later than the tools' own grace time, which begins now: what they settle to comes first.
    const giveUp = () => {
      this.#timer = timer(0, () => this.#reject(this.#run.signal.reason))
    }
    this.#timer = timer(this.#run.config.grace, giveUp)
  }
}
