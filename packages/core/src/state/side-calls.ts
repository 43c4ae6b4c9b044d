/** Tracks the running side calls to models, so that none continues after its run. */

import { within } from '../flow/grace.ts'
import { RunAbortedError } from '../vocabulary/errors.ts'
import type { Actor } from './actor.ts'

interface SideCall {
  readonly actor: Actor
  readonly controller: AbortController
  /** Never rejects. */
  readonly done: Promise<unknown>
}

export class SideCalls {
  #open: readonly SideCall[] = []
  /** Why the run is over, if it is. */
  #end: { readonly reasonOf: () => unknown } | undefined

  /** A side call has begun. */
  add(actor: Actor, controller: AbortController, work: Promise<unknown>): void {
    const over = () => {
      this.#open = this.#open.filter((other) => other !== one)
    }
    const one = { actor, controller, done: work.then(over, over) }
    this.#open = [...this.#open, one]
  }

  /** Returns why this actor may make no more model calls, if so. */
  endFor(actor: Actor): RunAbortedError | undefined {
    return this.#end && !this.#isDetached(actor) ? new RunAbortedError(this.#end.reasonOf()) : undefined
  }

  /** Called when the run is over: aborts side calls that nothing awaits. Work that was handed over may still call the model. */
  abort(reasonOf: () => unknown): void {
    this.#end ??= { reasonOf }
    for (const { controller } of this.#mine()) controller.abort(new RunAbortedError(reasonOf()))
  }

  /** Resolves when no side call is running, or when the grace time is over, because a wrap may ignore its signal. */
  async idle(grace: number): Promise<void> {
    const mine = this.#mine()
    if (mine.length > 0) await within(grace, Promise.all(mine.map(({ done }) => done)))
  }

  #mine(): readonly SideCall[] {
    return this.#open.filter(({ actor }) => !this.#isDetached(actor))
  }

  #isDetached({ call }: Actor): boolean {
    return call?.state.work?.isHandedOver === true
  }
}
