/** The step at work, and how far it has come: what a resume needs to go on in its middle. */

import type { AssistantMessage, FinishReason, Message, ToolMessage } from '../message.ts'
import type { Phase } from '../saved-run.ts'

export type Answer = AssistantMessage | ToolMessage

export class Step {
  readonly number: number
  /** The history as it was before the step. */
  readonly before: readonly Message[]
  /** Middlewares whose hook of this phase has finished: a resume does not repeat them (L8). */
  readonly done: Set<string> = new Set()
  /** Attempts of its model call so far (J10). */
  attempts = 0
  /** The attempt that stood; absent if a wrap answered itself. */
  attempt: number | undefined
  /** How its response ended. */
  finishReason: FinishReason | undefined
  /** What the gate is asked about, as it was left. */
  candidate: Answer | undefined
  /** Whether that began as the result of a `returnDirect` tool. */
  direct = false
  /** What the model had said when the run was cancelled, until it is asked again. */
  cutOff: AssistantMessage | undefined
  #soFar: (() => AssistantMessage | undefined) | undefined
  #phase: Phase = 'before-model'

  constructor(number: number, before: readonly Message[]) {
    this.number = number
    this.before = before
  }

  get phase(): Phase {
    return this.#phase
  }

  enter(phase: Phase): void {
    this.#phase = phase
    this.done.clear()
  }

  /** The model is asked; `soFar` gives what it has said by then. */
  asks(soFar: () => AssistantMessage | undefined): void {
    this.cutOff = undefined
    this.#soFar = soFar
  }

  /** What the model has said so far, of a call that has not stood. */
  get saidSoFar(): AssistantMessage | undefined {
    return this.#soFar ? this.#soFar() : this.cutOff
  }

  /** The run is cancelled: what comes from now on does not count. */
  cut(): void {
    this.cutOff = this.saidSoFar
    this.#soFar = undefined
  }

  /** The model call has stood. */
  stood(attempt: number | undefined): void {
    this.cutOff = undefined
    this.#soFar = undefined
    this.attempt = attempt
    this.enter('after-model')
  }

  /** The calls are made, if there were any: what is offered as the final answer, if anything is. */
  offer(candidate: Answer | undefined, direct: boolean, finishReason: FinishReason): void {
    this.candidate = candidate
    this.direct = direct
    this.finishReason = finishReason
    this.enter('gate')
  }

  /** How the response ended that an answer came with: a tool's result has no finish reason of its own. */
  reasonOf(answer: Answer): FinishReason {
    return answer.role === 'assistant' ? answer.finishReason : (this.finishReason ?? 'other')
  }

  /** The gate has accepted: what is still to come is the way up through the wraps of the run. */
  accept(answer: Answer): void {
    this.candidate = answer
    this.enter('over')
  }
}
