/** Holds the values that belong to the steps of a run. `machine/steps.ts` holds how far the steps have come. */

import { LazyController } from '../flow/follow.ts'
import { noSteps, type Steps } from '../machine/steps.ts'
import type { OutputError } from '../vocabulary/errors.ts'
import type { AssistantMessage, Message, ToolMessage } from '../vocabulary/message.ts'
import type { Step } from '../vocabulary/saved-run.ts'

export type Answer = AssistantMessage | ToolMessage

export class RunSteps {
  readonly state: Steps = noSteps()
  /** The history before the current step. */
  before: readonly Message[] = []
  /** The history that the model last received. */
  asked: readonly Message[] | undefined
  /** The final answer that the current step has offered, if there is one. */
  offer: Answer | undefined
  /** The feedback for the last rejected answer; `misfit` if it did not fit the output schema. */
  rejection: { readonly feedback: string; readonly misfit?: OutputError | undefined } | undefined
  /** The partial response when the run was cancelled, until the next model call. */
  partial: AssistantMessage | undefined
  /** Aborts when a wrap leaves the running steps. */
  left: LazyController = new LazyController()
  /** The middleware that last called `next` again. If steps begin while others are running, the error names it. */
  repeater = ''
  #soFar: (() => AssistantMessage | undefined) | undefined

  /** How many steps have begun. */
  get begun(): number {
    return this.state.begun
  }

  /** The current step. Throws if there is none: a loop whose wrap has ended may continue after the end of its run. */
  get step(): Step {
    const { current } = this.state
    if (!current) throw new TypeError('the run has ended')
    return current
  }

  /** The answer that is offered as the final one, if there is one. */
  get candidate(): Answer | undefined {
    return this.state.current?.isOffered ? this.offer : undefined
  }

  /** Called when a model call begins: `soFar` returns its partial response. Called without `soFar` when it has ended. */
  modelCalled(soFar?: () => AssistantMessage | undefined): void {
    this.partial = undefined
    this.#soFar = soFar
  }

  /** The partial response of an unfinished model call. */
  get partialSoFar(): AssistantMessage | undefined {
    return this.#soFar ? this.#soFar() : this.partial
  }

  /** Called when the run is cancelled: later parts of the response do not count. */
  cut(): void {
    this.partial = this.partialSoFar
    this.#soFar = undefined
  }
}
