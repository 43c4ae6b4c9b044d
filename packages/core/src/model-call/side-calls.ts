/** The model calls on the side that are at work: none outlives its run. */

import type { SideRequest } from '../call-options.ts'
import { RunAbortedError } from '../errors.ts'
import { within } from '../flow/grace.ts'
import { rejectInTurn } from '../flow/turn.ts'
import type { AssistantMessage } from '../message.ts'
import { type Actor, checkNotLeft } from '../run/actor.ts'
import type { RunState } from '../run/run.ts'
import { callModelOnSide } from './side-call.ts'

interface SideCall {
  readonly actor: Actor
  readonly controller: AbortController
  /** Never rejects. */
  readonly done: Promise<unknown>
}

export class SideCalls {
  readonly #run: RunState
  #open: readonly SideCall[] = []
  /** Why its run is over, if it is. */
  #end: { readonly reasonOf: () => unknown } | undefined

  constructor(run: RunState) {
    this.#run = run
  }

  /** {@link Run.callModel}. Whoever does not wait for it need not handle what it throws. */
  call(request: SideRequest, actor: Actor, signal: AbortSignal): Promise<AssistantMessage> {
    if (this.#end && !this.#isDetached(actor)) return rejectInTurn(new RunAbortedError(this.#end.reasonOf()))
    try {
      checkNotLeft(actor, 'callModel')
    } catch (error) {
      return rejectInTurn(error)
    }
    const controller = new AbortController()
    const stop = AbortSignal.any([signal, controller.signal])
    const message = callModelOnSide(this.#run, actor.context, stop, request)
    const over = () => {
      this.#open = this.#open.filter((other) => other !== one)
    }
    const one: SideCall = { actor, controller, done: message.then(over, over) }
    this.#open = [...this.#open, one]
    return message
  }

  /** The run is over, and with it what nobody waits for; but work that was handed over may still ask. */
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
    return call !== undefined && this.#run.background.hasHandedOver(call)
  }
}
