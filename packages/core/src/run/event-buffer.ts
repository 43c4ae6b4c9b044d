/** Holds events between a run and its reader: the run never waits for the reader, and the number of events that wait is bounded. */

import type { AgentEvent } from '../vocabulary/events.ts'
import { WaitingEvents } from './waiting-events.ts'

/** The end of a run: its last event, or the error the reader gets after what waits. */
type End = { readonly event: AgentEvent } | { readonly error: unknown }

type Step = IteratorResult<AgentEvent, undefined>

export class EventBuffer {
  readonly #waiting: WaitingEvents
  /** What the reader waits for, if it does: then nothing waits for the reader. */
  #pending: { readonly step: Promise<Step>; readonly give: (step: Step | Promise<Step>) => void } | undefined
  #end: { readonly error: unknown } | 'over' | undefined

  /** `limit`: from so many waiting events on, some give way. */
  constructor(limit: number) {
    this.#waiting = new WaitingEvents(limit)
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

  /** No more will come. */
  end(end: End): void {
    if (this.#end) return
    this.#end = 'error' in end ? end : 'over'
    if (this.#pending) this.#give('error' in end ? this.#last() : { done: false, value: end.event })
    else if ('event' in end) this.#waiting.append(end.event)
  }

  /** The reader has left: it gets nothing more, also if it waits. */
  leave(): void {
    this.#end = 'over'
    this.#waiting.clear()
    this.#give({ done: true, value: undefined })
  }

  /** What the reader gets: each event once and in order, then the end. Who asks ahead is answered in turn. */
  next(): Promise<Step> {
    if (this.#pending) return this.#pending.step.then(this.#again, this.#again)
    const event = this.#waiting.take()
    if (event) return Promise.resolve({ done: false, value: event })
    return this.#end ? this.#last() : this.#waitForEvent()
  }

  readonly #again = (): Promise<Step> => this.next()

  #waitForEvent(): Promise<Step> {
    let give: (step: Step | Promise<Step>) => void = () => undefined
    const step = new Promise<Step>((resolve) => {
      give = resolve
    })
    this.#pending = { step, give }
    return step
  }

  #give(step: Step | Promise<Step>): void {
    const pending = this.#pending
    this.#pending = undefined
    pending?.give(step)
  }

  /** An error is thrown once. */
  async #last(): Promise<Step> {
    const end = this.#end
    this.#end = 'over'
    if (end && end !== 'over') throw end.error
    return { done: true, value: undefined }
  }
}
