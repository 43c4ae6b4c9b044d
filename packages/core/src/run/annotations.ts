/** What hooks, wraps and tools put on spans that core ends: on the run's, or on those of a call to come. */

import type { Attributes } from '@opentelemetry/api'

export class Annotations {
  /** By call id; the run's own under `undefined`. */
  #given: Map<string | undefined, Attributes> | undefined

  add(attributes: Attributes, callId?: string): void {
    this.#given ??= new Map()
    this.#given.set(callId, { ...this.#given.get(callId), ...attributes })
  }

  of(callId?: string): Attributes {
    return this.#given?.get(callId) ?? {}
  }

  /** The step of this call is over. */
  forget(callId: string): void {
    this.#given?.delete(callId)
  }
}
