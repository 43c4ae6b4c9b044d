/** The calls of the current response in call order, while it streams and after it is accepted. */

import { type AssistantMessage, callsOf, type ModelEvent, type ModelFlow, map, type ToolCall } from '@meanwhile/core'
import { sameCall } from '@meanwhile/core/calls'

export interface OrderedCall {
  readonly id: string
  readonly name: string
}

interface Announced extends OrderedCall {
  readonly call?: ToolCall
}

type OfCall = Extract<ModelEvent, { type: 'tool-input-start' | 'tool-call' }>

export class ResponseOrder {
  #attempt: number | undefined
  #streamed: Announced[] = []
  /** Present after the response is accepted. */
  #accepted: readonly Announced[] | undefined
  /** The calls of this step that started, by their first id: a later attempt may give them another one. */
  readonly #started = new Map<string, ToolCall>()

  constructor(accepted?: readonly OrderedCall[]) {
    this.#accepted = accepted
  }

  /** Called before the first attempt of a step. */
  begin(): void {
    this.#accepted = undefined
    this.#streamed = []
    this.#started.clear()
  }

  /** Returns the same flow, observed. Another attempt starts a new list. */
  watched(flow: ModelFlow): ModelFlow {
    this.#streamed = []
    return map(flow, (event) => {
      if (event.type === 'tool-input-start' || event.type === 'tool-call') this.#note(event)
      return event
    })
  }

  /**
   * The response is accepted, or an `afterModel` has changed it. Calls that a hook added come last, wherever it put them: early calls were judged
   * without them.
   */
  accept(message: AssistantMessage): readonly OrderedCall[] {
    const place = new Map(this.#streamed.map(({ id }, index) => [id, index]))
    const placeOf = ({ id }: ToolCall) => place.get(id) ?? place.size
    this.#accepted = callsOf(message)
      .toSorted((a, b) => placeOf(a) - placeOf(b))
      .map((call) => ({ id: call.id, name: call.name, call }))
    return this.#accepted.map(({ id, name }) => ({ id, name }))
  }

  get isAccepted(): boolean {
    return this.#accepted !== undefined
  }

  /** All calls that are known so far. */
  get calls(): readonly OrderedCall[] {
    return this.#accepted ?? this.#streamed
  }

  started(call: ToolCall): void {
    if (!this.#started.has(call.id)) this.#started.set(call.id, call)
  }

  /** A call of the response that started in this process, by the id that it had then. */
  startedAs(id: string): ToolCall | undefined {
    return this.#started.get(id)
  }

  /** The place of a call; -1 if the response does not contain it. A call that the current attempt joins has the place of the equal call. */
  placeOf(id: string): number {
    const calls: readonly Announced[] = this.#accepted ?? this.#streamed
    const place = calls.findIndex((one) => one.id === id)
    const started = this.#started.get(id)
    if (place >= 0 || !started) return place
    return calls.findIndex(({ id, call }) => call && !this.#started.has(id) && sameCall(call, started))
  }

  #note(event: OfCall & { readonly attempt?: number }): void {
    if (event.attempt !== this.#attempt) this.#streamed = []
    this.#attempt = event.attempt
    const isStart = event.type === 'tool-input-start'
    const id = isStart ? event.id : event.call.id
    const place = this.#streamed.findIndex((one) => one.id === id)
    if (isStart) {
      if (place < 0) this.#streamed.push({ id, name: event.name })
      return
    }
    const { call } = event
    // The provider has already run this call.
    if (call.providerResult !== undefined) this.#streamed = this.#streamed.filter((one) => one.id !== id)
    else this.#streamed.splice(place < 0 ? this.#streamed.length : place, 1, { id, name: call.name, call })
  }
}
