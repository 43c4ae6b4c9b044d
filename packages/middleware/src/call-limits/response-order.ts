/**
 * Tracks the calls of the current response in call order, because a call that starts early must leave room for those
 * before it.
 */

import { type ModelEvent, type ModelFlow, map, type ToolCall } from '@meanwhile/core'
import { sameCall } from '@meanwhile/core/calls'

/** The state of one run. */
export class CallOrder {
  #step = 0
  #attempt: number | undefined
  #announced: { readonly id: string; readonly name: string; call?: ToolCall }[] = []
  /** Calls of this step that were made or refused. */
  #met: ToolCall[] = []

  /** Returns the same flow, observed. A further attempt starts a new list. */
  watched(flow: ModelFlow, step: number): ModelFlow {
    if (step !== this.#step) this.#met = []
    this.#step = step
    this.#announced = []
    return map(flow, (event) => {
      if (event.type === 'tool-input-start' || event.type === 'tool-call') this.#note(event)
      return event
    })
  }

  met(call: ToolCall): void {
    this.#met.push(call)
  }

  /** Returns the calls before this one that have not been made. */
  toCome({ id }: ToolCall): readonly { readonly name: string }[] {
    const place = this.#announced.findIndex((announced) => announced.id === id)
    return this.#announced.slice(0, Math.max(0, place)).filter((announced) => !this.#isMet(announced))
  }

  #note(event: Extract<ModelEvent, { type: 'tool-input-start' | 'tool-call' }> & { readonly attempt?: number }): void {
    if (event.attempt !== this.#attempt) this.#announced = []
    this.#attempt = event.attempt
    if (event.type === 'tool-input-start') this.#announced.push({ id: event.id, name: event.name })
    else {
      const { call } = event
      const announced = this.#announced.find(({ id }) => id === call.id)
      if (announced) announced.call = call
      // The provider has already run this call.
      if (call.providerResult !== undefined) this.#announced = this.#announced.filter((other) => other !== announced)
    }
  }

  /** Whether the call was made: with its own id, or with the id of an equal call of an earlier attempt. */
  #isMet({ id, call }: { readonly id: string; readonly call?: ToolCall }): boolean {
    const isOfAttempt = (other: ToolCall) => this.#announced.some((announced) => announced.id === other.id)
    return this.#met.some((met) => met.id === id || (call && sameCall(met, call) && !isOfAttempt(met)))
  }
}
