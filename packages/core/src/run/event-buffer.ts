/** Buffers events between a run and its reader: the run never waits for the reader, and the number of waiting events is bounded. */

import { EventQueue } from '../state/event-queue.ts'
import type { AgentEvent } from '../vocabulary/events.ts'

/** The end of a run: its last event, or the error that the reader receives after the waiting events. */
type End = { readonly event: AgentEvent } | { readonly error: unknown }

type Step = IteratorResult<AgentEvent, undefined>

export class EventBuffer {
  readonly #waiting: EventQueue
  /** The read that is waiting, if there is one. Then no events are waiting. */
  #pending: PromiseWithResolvers<Step> | undefined
  #end: { readonly error: unknown } | 'over' | undefined

  /** `limit`: from this many waiting events on, events are joined or dropped. */
  constructor(limit: number) {
    this.#waiting = new EventQueue(limit)
  }

  /** How many `custom` events were dropped. */
  get dropped(): number {
    return this.#waiting.dropped
  }

  push(event: AgentEvent): void {
    if (this.#end) return
    if (this.#pending) this.#give({ done: false, value: event })
    else this.#waiting.push(event)
  }

  /** No more events follow. */
  end(end: End): void {
    if (this.#end) return
    this.#end = 'error' in end ? end : 'over'
    if (this.#pending) this.#give('error' in end ? this.#last() : { done: false, value: end.event })
    else if ('event' in end) this.#waiting.append(end.event)
  }

  /** The reader has left: it receives nothing more, even if it is waiting. */
  leave(): void {
    this.#end = 'over'
    this.#waiting.clear()
    this.#give({ done: true, value: undefined })
  }

  /** The next step for the reader: each event once and in order, then the end. Parallel reads are answered in turn. */
  next(): Promise<Step> {
    if (this.#pending) return this.#pending.promise.then(this.#again, this.#again)
    const event = this.#waiting.take()
    if (event) return Promise.resolve({ done: false, value: event })
    if (this.#end) return this.#last()
    this.#pending = Promise.withResolvers()
    return this.#pending.promise
  }

  readonly #again = (): Promise<Step> => this.next()

  #give(step: Step | Promise<Step>): void {
    const pending = this.#pending
    this.#pending = undefined
    pending?.resolve(step)
  }

  /** An error is thrown once. */
  async #last(): Promise<Step> {
    const end = this.#end
    this.#end = 'over'
    if (end && end !== 'over') throw end.error
    return { done: true, value: undefined }
  }
}
