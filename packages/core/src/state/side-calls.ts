/** Keeps the model calls on the side that are at work: none outlives its run. */

import { within } from '../flow/grace.ts'
import { RunAbortedError } from '../vocabulary/errors.ts'
import type { Actor } from './actor.ts'

interface SideCall {
  readonly actor: Actor
  readonly controller: AbortController
  /** Never rejects. */
  readonly done: Promise<unknown>
}

/** Their run, as far as their end concerns it. */
interface Ended {
  readonly config: { readonly grace: number }
}

export class SideCalls {
  readonly #run: Ended
  #open: readonly SideCall[] = []
  /** Why its run is over, if it is. */
  #end: { readonly reasonOf: () => unknown } | undefined

  constructor(run: Ended) {
    this.#run = run
  }

  /** One has begun. */
  add(actor: Actor, controller: AbortController, work: Promise<unknown>): void {
    const over = () => {
      this.#open = this.#open.filter((other) => other !== one)
    }
    const one = { actor, controller, done: work.then(over, over) }
    this.#open = [...this.#open, one]
  }

  /** Why the model makes no call for this actor any more, if it does not. */
  endFor(actor: Actor): RunAbortedError | undefined {
    return this.#end && !this.#isDetached(actor) ? new RunAbortedError(this.#end.reasonOf()) : undefined
  }

  /** The run is over, and with it what nobody waits for; but work that was handed over may still call the model. */
  abort(reasonOf: () => unknown): void {
    this.#end ??= { reasonOf }
    for (const { controller } of this.#mine()) controller.abort(new RunAbortedError(reasonOf()))
  }

  /** Resolves when none is at work, or the grace time is over: a wrap round one may not heed its signal. */
  async idle(): Promise<void> {
    const mine = this.#mine()
    if (mine.length > 0) await within(this.#run.config.grace, Promise.all(mine.map(({ done }) => done)))
  }

  #mine(): readonly SideCall[] {
    return this.#open.filter(({ actor }) => !this.#isDetached(actor))
  }

  #isDetached({ call }: Actor): boolean {
    return call?.state.work?.isHandedOver === true
  }
}
