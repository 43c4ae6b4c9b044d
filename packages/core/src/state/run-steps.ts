/** Keeps the values that belong to the steps of a run. `machine/steps.ts` knows how far the steps have come. */

import { LazyController } from '../flow/follow.ts'
import { noSteps, type Steps } from '../machine/steps.ts'
import type { OutputError } from '../vocabulary/errors.ts'
import type { AssistantMessage, Message, ToolMessage } from '../vocabulary/message.ts'
import type { Step } from '../vocabulary/saved-run.ts'

export type Answer = AssistantMessage | ToolMessage

export class RunSteps {
  readonly state: Steps = noSteps()
  /** The history as it was before the step at work. */
  before: readonly Message[] = []
  /** The history with which the model was asked last. */
  asked: readonly Message[] | undefined
  /** What the step at work has offered as the final answer, if it has. */
  offer: Answer | undefined
  /** What the gate said when it rejected the last answer; why that did not fit the output schema, if that was wrong with it. */
  rejection: { readonly feedback: string; readonly misfit?: OutputError | undefined } | undefined
  /** What the model had said when the run was cancelled, until the next model call. */
  partial: AssistantMessage | undefined
  /** Aborts when a wrap leaves the steps that are at work. */
  left: LazyController = new LazyController()
  /** Who called `next` again last: the one to blame for steps that begin while others are at work. */
  repeater = ''
  #soFar: (() => AssistantMessage | undefined) | undefined

  /** Steps begun. */
  get begun(): number {
    return this.state.begun
  }

  /** The step at work. Throws if there is none: a loop that its wrap has left may go on after the end of its run. */
  get step(): Step {
    const { current } = this.state
    if (!current) throw new TypeError('the run is over')
    return current
  }

  /** What is offered as the final answer, as it was left. */
  get candidate(): Answer | undefined {
    return this.state.current?.isOffered ? this.offer : undefined
  }

  /** A model call begins: `soFar` gives what the model has said by then. Without `soFar`: no model call is at work any more. */
  modelCalled(soFar?: () => AssistantMessage | undefined): void {
    this.partial = undefined
    this.#soFar = soFar
  }

  /** What the model has said so far, of a call that has not stood. */
  get saidSoFar(): AssistantMessage | undefined {
    return this.#soFar ? this.#soFar() : this.partial
  }

  /** The run is cancelled: what comes from now on does not count. */
  cut(): void {
    this.partial = this.saidSoFar
    this.#soFar = undefined
  }
}
